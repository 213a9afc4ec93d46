"""What is passed to functions: arguments, broadcasting, promotion, mixed precision."""
