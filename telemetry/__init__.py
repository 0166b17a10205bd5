"""What all stages share: types, the metric catalogue, topics and the codec. Imports ``common`` alone of ours."""
