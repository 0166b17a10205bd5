"""The language that all stages speak: types, metric catalogue, topics, codec and bus. Imports nothing else of ours."""
