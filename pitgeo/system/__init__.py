"""What has nothing to do with meshes or networks: processes, signals, memory, file names, names that load late."""
