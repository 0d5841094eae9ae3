package simulator_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/ridethrough/ridethrough/internal/lab/simulator"
)

func Example() {
	replies, err := simulator.Parse("529, refused, ok")
	if err != nil {
		panic(err)
	}
	p := simulator.New(simulator.Script{Replies: replies, Answer: "Good morning."})
	defer p.Close()
	for range 3 {
		resp, err := p.Client().Post("http://simulator/v1/messages", "application/json", strings.NewReader(`{"model":"claude"}`))
		if err != nil {
			fmt.Println(err)
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		fmt.Println(resp.Status, strings.Contains(string(body), "Good morning."))
	}
	for _, q := range p.Requests() {
		fmt.Println(q.Method, q.Path, q.Outcome)
	}
	// Output:
	// 529 status code 529 false
	// Post "http://simulator/v1/messages": dial tcp pipe: connect: connection refused
	// 200 OK true
	// POST /v1/messages 529
	//   refused
	// POST /v1/messages ok
}

func ExampleParse() {
	replies, err := simulator.Parse(`529*2, 429;retry-after=7, cut:3:clean`)
	fmt.Println(replies, err)
	_, err = simulator.Parse("cut:three")
	fmt.Println(err)
	// Output:
	// [529 529 429;retry-after=7 cut:3:clean] <nil>
	// reply "cut:three": want a count of content events, such as cut:3
}

func ExampleParseOutage() {
	outage, err := simulator.ParseOutage("5s-25s=refused")
	fmt.Println(outage.To-outage.From, outage.Reply, err)
	// Output: 20s refused <nil>
}

func ExamplePipe() {
	pipe := simulator.NewPipe()
	server := http.Server{
		Handler:           http.NotFoundHandler(),
		ReadHeaderTimeout: time.Minute,
	}
	ended := make(chan error)
	go func() { ended <- server.Serve(pipe) }()
	client := http.Client{Transport: &http.Transport{DialContext: pipe.DialContext}}
	resp, err := client.Get("http://anything")
	if err != nil {
		panic(err)
	}
	_ = resp.Body.Close()
	_ = server.Close()
	fmt.Println(resp.Status, <-ended)
	// Output: 404 Not Found http: Server closed
}

func ExampleSay() {
	replies, err := simulator.Parse(`think:"A list, then."+call:list{"path":"."}+cut:4, say:"Two files."`)
	if err != nil {
		panic(err)
	}
	cut, said := replies[0].(simulator.Say), replies[1].(simulator.Say)
	fmt.Println(cut.Reasoning, cut.Calls, cut.How)
	fmt.Println(said.Text)
	// Output:
	// A list, then. [list{"path":"."}] cut:4
	// Two files.
}
