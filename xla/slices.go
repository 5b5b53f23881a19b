package xla

import (
	"reflect"

	"example.com/qdnb/internal/npz"
)

// index returns the worker that holds an element of the batch, and its row there.
func (s Slices) index(number int) (worker, row int) {
	slice, k := number/s.Size, number%s.Size
	return slice % s.Workers, slice/s.Workers*s.Size + k
}

// Download copies the shares of all workers, [turns, Size, ...], to the host, in order: [N, ...].
func (s Slices) Download(v Sharded) (npz.Array, error) {
	var shares []reflect.Value
	for worker := range v {
		share, err := Download(v[worker : worker+1])
		if err != nil {
			return npz.Array{}, err
		}
		shares = append(shares, reflect.ValueOf(share.Data))
	}
	width := shares[0].Len() / (s.Turns() * s.Size)
	flat := reflect.MakeSlice(shares[0].Type(), s.N*width, s.N*width)
	for number := range s.N {
		worker, row := s.index(number)
		reflect.Copy(flat.Slice(number*width, (number+1)*width),
			shares[worker].Slice(row*width, (row+1)*width))
	}
	shape := append([]int{s.N}, v[0].Shape().Dimensions[2:]...)
	return npz.Array{Shape: shape, Data: flat.Interface()}, nil
}

// Upload is the inverse of [Slices.Download]. The padding repeats other rows.
func (s Slices) Upload(a npz.Array) (Sharded, error) {
	flat := reflect.ValueOf(a.Data)
	width, rows := flat.Len()/s.N, s.Turns()*s.Size
	shares := make([]reflect.Value, s.Workers)
	for worker := range shares {
		shares[worker] = reflect.MakeSlice(flat.Type(), rows*width, rows*width)
	}
	for number := range rows * s.Workers {
		worker, row := s.index(number)
		from := number % s.N * width
		reflect.Copy(shares[worker].Slice(row*width, (row+1)*width), flat.Slice(from, from+width))
	}
	shape := append([]int{s.Turns(), s.Size}, a.Shape[1:]...)
	var v Sharded
	for _, share := range shares {
		tensor, err := Upload(npz.Array{Shape: shape, Data: share.Interface()})
		if err != nil {
			return nil, err
		}
		v = append(v, tensor)
	}
	return v, nil
}
