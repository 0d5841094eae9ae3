package web_test

import (
	"fmt"
	"io/fs"

	"github.com/ridethrough/ridethrough/internal/server/web"
)

func ExampleFiles() {
	icons, err := fs.Glob(web.Files(), "icon*")
	fmt.Println(icons, err)
	// Output: [icon-offline.svg.gz icon.svg.gz] <nil>
}
