"""Values in memory: storages, strides, devices."""
