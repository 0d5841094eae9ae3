package web_test

import (
	"fmt"
	"io/fs"

	"github.com/ridethrough/ridethrough/internal/server/web"
)

func ExampleFiles() {
	icons, err := fs.Glob(web.Files(), "icon*.svg")
	fmt.Println(icons, err)
	// Output: [icon-offline.svg icon.svg] <nil>
}
