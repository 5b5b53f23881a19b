package session

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image/png"
	"time"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/qdnb/plot/figures"
)

const (
	livePause = 2 * time.Second // between two drawings, at least
	liveShare = 0.01            // of a run's time that drawing may take
	liveDPI   = 96              // of a screen
)

// live is the figure of a run below its notebook cell, replaced as the run trains.
type live struct {
	id    string // of its output
	drawn time.Time
	took  time.Duration // the newest drawing
	spent time.Duration // all drawings of this session
}

// due reports whether a drawing fits into the time, of which the run has taken some seconds.
func (l *live) due(now time.Time, seconds float64) bool {
	return l != nil && now.Sub(l.drawn) >= livePause && (l.spent+l.took).Seconds() <= liveShare*seconds
}

// draw replaces the figure. Its time does not count towards the run's. The last picture is as small as
// that of other figures; those before are made fast.
func (s *session) draw(last bool) error {
	began := time.Now()
	repertoire, err := s.repertoire(false)
	if err != nil {
		return err
	}
	run := *s.writer.Run
	run.Status = s.status
	grid, err := figures.Progress(&run, repertoire)
	if err != nil {
		return err
	}
	state, _ := s.describe()
	text := s.Config.Name() + " at " + state
	id := s.live.id
	if err := replace(id, grid, text, last); err != nil {
		return err
	}
	if panels := grid.Panels[0]; last && repertoire.Dims == 2 {
		cell.MapShown(run.Name(), func() {
			panels[1].Title.Text = panels[0].Title.Text
			_ = replace(id, figures.InRows(1, panels[1]), text, true) // else the old figure stays
		})
	}
	s.live.drawn, s.live.took = time.Now(), time.Since(began)
	s.live.spent += s.live.took
	return nil
}

// replace replaces a figure by a grid, which the text describes.
func replace(id string, grid figures.Grid, text string, last bool) error {
	figure, err := grid.Figure()
	if err != nil {
		return err
	}
	width, height := figure.Bounds()
	var data []byte
	if last {
		data, err = figure.PNG(figures.Resolution)
	} else {
		data, err = fastPNG(figure)
	}
	if err != nil {
		return err
	}
	return cell.Replace(id, fmt.Sprintf(`<img alt="%s" width="%.0f" height="%.0f" src="data:image/png;base64,%s">`,
		text, width.Dots(liveDPI), height.Dots(liveDPI), base64.StdEncoding.EncodeToString(data)))
}

func fastPNG(figure *figures.Figure) ([]byte, error) {
	img, err := figure.Image(liveDPI)
	if err != nil {
		return nil, err
	}
	var data bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	err = encoder.Encode(&data, img)
	return data.Bytes(), err
}

// drawLive draws if it is due, or the run ends. A run does not fail for what cannot be drawn.
func (s *session) drawLive(last bool) {
	if s.live == nil || !last && !s.live.due(time.Now(), s.status.Seconds) {
		return
	}
	if s.untimed(func() error { return s.draw(last) }) != nil {
		s.live = nil
	}
}
