"""Loops to LLVM IR, and LLVM IR to machine code."""
