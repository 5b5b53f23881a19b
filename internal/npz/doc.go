// Package npz reads and writes NumPy's files: .npy holds one array, .npz is a zip archive of them.
//
// All arrays that a run keeps on disk have this form, so that they can be opened anywhere:
//
//	>>> numpy.load("repertoire.npz")["fitnesses"]
//
// An [Array] is a dense block of numbers in C order (the last axis is contiguous) with its shape.
// [Read] and [Write] handle whole files. [Open] reads only the list of arrays and their shapes,
// then the arrays that the caller asks for: reading the fitnesses of a repertoire does not read its
// genotypes.
//
// Files are written atomically (a reader sees the old file or the new one, never a part) and
// deterministically (the same arrays give the same bytes). Arrays of a megabyte or more are stored
// uncompressed, since network weights do not compress; smaller ones are deflated. Input files are
// not trusted: header sizes are checked against the file size before memory is allocated.
//
// Format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
package npz
