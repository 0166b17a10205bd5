"""Which collections begin while there is too little CPU, memory or file descriptors, and which are left out."""
