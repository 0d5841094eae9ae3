package conversation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ridethrough/ridethrough/llm"
	"github.com/ridethrough/ridethrough/store"
	"github.com/ridethrough/ridethrough/turn"
	"github.com/ridethrough/ridethrough/wire"
)

// imageFile is the record of an image's file. It comes before the inputs and messages that show the image, which
// describe it only: readers get their events, and not this one.
type imageFile struct {
	ID   string `json:"id"` // of the image
	Data []byte `json:"data"`
}

func (imageFile) note() string { return imageStored }

// checkImages returns the images of an input as their bytes say that they are, and an error for those that are not
// accepted.
func checkImages(images []llm.Image) (checked []llm.Image, err error) {
	for _, i := range images {
		known, err := llm.NewImage(i.Name, i.Data)
		if err != nil {
			return nil, fmt.Errorf("%w: the image %s%w", ErrInvalidText, spaced(i.Name), err)
		}
		checked = append(checked, known)
	}
	if err := llm.CheckImages(checked); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidText, err)
	}
	return checked, nil
}

// spaced returns a name followed by a space, or "" for an empty name.
func spaced(name string) string {
	if name == "" {
		return ""
	}
	return name + " "
}

// storeImages puts the files of an input's images into the log, each in an append of its own: all together may be
// larger than one. A file that is there already is not stored again.
func (r *Runner) storeImages(ctx context.Context, l *log, id string, images []llm.Image, may func(*log) error) error {
	for _, i := range images {
		missing := func(l *log) error {
			if l.images[i.ID] != nil {
				return errKnown
			}
			return may(l)
		}
		if err := r.append(ctx, l, id, missing, one(imageFile{i.ID, i.Data})); err != nil {
			return err
		}
	}
	return nil
}

// keepFile notes the file of an image.
func (l *log) keepFile(f imageFile) {
	if l.images == nil {
		l.images = map[string][]byte{}
	}
	if l.images[f.ID] == nil {
		l.images[f.ID] = f.Data
		l.size += len(f.Data)
	}
}

// withFiles returns images with their files, but for one whose file is lost.
func (l *log) withFiles(images []llm.Image) []llm.Image {
	images = slices.Clone(images)
	for at := range images {
		images[at].Data = l.images[images[at].ID]
	}
	return images
}

// ImageRecords returns the records of the files of images. They come before that of the event that shows them.
func ImageRecords(turnID string, images []llm.Image, now time.Time) ([]store.Record, error) {
	records := make([]store.Record, len(images))
	for at, i := range images {
		var err error
		if records[at], err = encode(turnID, imageFile{i.ID, i.Data}, now); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// TurnEvents returns the events of turns that records have, with the files of the images that they show.
func TurnEvents(records []store.Record) ([]wire.Turn, error) {
	var files log
	var events []wire.Turn
	for _, r := range records {
		content, err := decode(r)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", r.N, err)
		}
		switch c := content.(type) {
		case imageFile:
			files.keepFile(c)
		case wire.Turn:
			if m, ok := c.Event.(turn.UserMessage); ok {
				m.Images = files.withFiles(m.Images)
				c.Event = m
			}
			c.TurnID = r.Turn
			events = append(events, c)
		}
	}
	return events, nil
}
