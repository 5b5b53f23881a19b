package scene_test

import (
	"fmt"

	"example.com/qdnb/qdnb/plot/scene"
)

// A picture of an environment, without a run; figures.Images arranges it in a notebook.
func ExampleRender() {
	film, err := scene.Illustration("walker-uni")
	if err != nil {
		fmt.Println(err)
		return
	}
	camera := scene.Near(film, 0, 4./3).Closer(1.2)
	picture, err := scene.Render(film, 0, camera, 200, 150)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(picture.Bounds().Size(), len(film.Bodies))
	// Output: (200,150) 7
}
