// Package nn holds the networks of qdnb as views of flat rows.
//
// A network's parameters are one float32 row; a population of P networks is a matrix [P, N]. Variation, optimisers,
// archives and files handle rows; [MLP.View] cuts them, once, into the biases and kernels that [Net.Apply] multiplies with.
// The order of a row is that of the paper's parameter files: layer by layer, bias before kernel, kernels [in, out]
// row-major.
package nn
