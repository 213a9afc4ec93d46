"""The Tensor: its class, creation, random numbers, exchange with other libraries."""
