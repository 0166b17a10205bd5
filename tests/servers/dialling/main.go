// A switch that dials its collector: grpc-go with the protocol files' own Go packages, as sonic-gnmi and NX-OS have them.
//
// Usage: dialling sonic|mdt ADDRESS. Each line of stdin is a gnmi.SubscribeResponse or a Telemetry message as protojson.
// It sends them in one call, ends it, and prints the status with which the collector ended it.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"os"

	mdt_dialout "github.com/cisco-ie/nx-telemetry-proto/mdt_dialout"
	"github.com/cisco-ie/nx-telemetry-proto/telemetry_bis"
	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// The method of sonic-gnmi's proto/dial_out.proto, as its generated stub calls it.
const sonic, mdt = "/gnmi.sonic.gNMIDialOut/Publish", "/mdt_dialout.gRPCMdtDialout/MdtDialout"

func message(kind string, line []byte) (proto.Message, error) {
	if kind == "sonic" {
		response := &gnmi.SubscribeResponse{}
		return response, protojson.Unmarshal(line, response)
	}
	telemetry := &telemetry_bis.Telemetry{}
	if err := protojson.Unmarshal(line, telemetry); err != nil {
		return nil, err
	}
	data, err := proto.Marshal(telemetry)
	return &mdt_dialout.MdtDialoutArgs{ReqId: 1, Data: data}, err
}

func main() {
	kind, method := os.Args[1], sonic
	if kind == "mdt" {
		method = mdt
	}
	connection, err := grpc.NewClient(os.Args[2], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	description := &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}
	stream, err := connection.NewStream(context.Background(), description, method)
	if err != nil {
		log.Fatal(err)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		sent, err := message(kind, lines.Bytes())
		if err != nil {
			log.Fatal(err)
		}
		if stream.SendMsg(sent) != nil {
			break
		}
	}
	stream.CloseSend()
	if err = stream.RecvMsg(&mdt_dialout.MdtDialoutArgs{}); err == io.EOF {
		err = nil
	}
	fmt.Println(status.Code(err))
}
