"""Functions of images: convolutions, pools, padding."""
