module fabricscope.example/dialling

go 1.24

require (
	github.com/cisco-ie/nx-telemetry-proto v0.0.0-20230117155933-f64c045c77df
	github.com/openconfig/gnmi v0.14.1
	google.golang.org/grpc v1.69.2
	google.golang.org/protobuf v1.36.2
)

require (
	golang.org/x/net v0.34.0 // indirect
	golang.org/x/sys v0.29.0 // indirect
	golang.org/x/text v0.21.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20250106144421-5f5ef82da422 // indirect
)
