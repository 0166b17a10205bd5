"""The bus between the stages: one small interface, two engines (Kafka and embedded) behind one conformance suite."""
