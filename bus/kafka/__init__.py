"""The bus on Kafka."""
