package tool

// OpenPresent opens a file that was a regular one a moment ago.
func (f *Folder) OpenPresent(name string) error {
	file, _, err := f.openPresent(name)
	if err == nil {
		err = file.Close()
	}
	return err
}
