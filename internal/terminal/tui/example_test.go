package tui_test

import (
	"fmt"

	"github.com/ridethrough/ridethrough/internal/terminal/tui"
)

func ExampleParseNotify() {
	n, err := tui.ParseNotify("bell,title")
	fmt.Printf("%+v %v\n", n, err)
	_, err = tui.ParseNotify("smoke")
	fmt.Println(err)
	// Output:
	// {Desktop:false Bell:true Progress:false Title:true} <nil>
	// unknown notification "smoke": want all, none, desktop, bell, progress or title
}
