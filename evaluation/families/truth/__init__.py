"""What a fault can reach in one cluster, and what should be said of it: from the ground truth alone."""
