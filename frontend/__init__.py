"""What users call: Tensors, functions, gradients, jit. It computes nothing and knows no code generator."""
