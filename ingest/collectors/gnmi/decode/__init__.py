"""SubscribeResponses in, columns out."""
