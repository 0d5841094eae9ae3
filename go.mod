module github.com/ridethrough/ridethrough

go 1.26
