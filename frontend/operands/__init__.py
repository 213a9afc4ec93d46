"""Operands of functions: arguments, broadcasting, promotion, mixed precision."""
