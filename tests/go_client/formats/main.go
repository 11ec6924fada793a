// What the Go SDK writes and reads over HTTP, in each of its compressions, as YSON and as skiff. Both tables are there:
// `go run ./formats 127.0.0.1:8001 //home/plain //home/composite`.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"go.ytsaurus.tech/yt/go/skiff"
	"go.ytsaurus.tech/yt/go/ypath"
	"go.ytsaurus.tech/yt/go/yt"
	"go.ytsaurus.tech/yt/go/yt/ythttp"
)

type row struct {
	Key     string  `yson:"key"`
	Number  int64   `yson:"number"`
	Perhaps *uint64 `yson:"perhaps"`
	Flag    bool    `yson:"flag"`
	Ratio   float64 `yson:"ratio"`
	Any     any     `yson:"any"`
}

func must(step string, err error) {
	if err != nil {
		fmt.Printf("%s: %v\n", step, err)
		os.Exit(1)
	}
}

func same(step string, got, want string) {
	if got != want {
		must(step, fmt.Errorf("got %s, want %s", got, want))
	}
}

func (r row) String() string {
	perhaps := "nothing"
	if r.Perhaps != nil {
		perhaps = fmt.Sprint(*r.Perhaps)
	}
	return fmt.Sprint(r.Key, r.Number, perhaps, r.Flag, r.Ratio, r.Any)
}

func plainRows() (rows []row) {
	seven := uint64(7)
	for number := range int64(5000) {
		rows = append(rows, row{Key: fmt.Sprint(number), Number: -number})
	}
	rows[1] = row{"b", 1, &seven, true, 1.5, []any{int64(1), "x"}}
	return rows
}

func writeAndRead(ctx context.Context, step string, client yt.Client, path ypath.Path, format any) {
	rows := plainRows()
	writer, err := client.WriteTable(ctx, path, &yt.WriteTableOptions{Format: format})
	must(step, err)
	for _, row := range rows {
		must(step, writer.Write(row))
	}
	must(step, writer.Commit())
	reader, err := client.ReadTable(ctx, path, &yt.ReadTableOptions{Format: format})
	must(step, err)
	count := 0
	for ; reader.Next(); count++ {
		var next row
		must(step, reader.Scan(&next))
		same(step, next.String(), rows[count].String())
	}
	must(step, reader.Err())
	same(step, fmt.Sprint(count), fmt.Sprint(len(rows)))
	must(step, reader.Close())
}

func readComposite(ctx context.Context, client yt.Client, path ypath.Path) {
	text := skiff.Schema{Type: skiff.TypeString32}
	optional := skiff.Schema{Type: skiff.TypeVariant8, Name: "y", Children: []skiff.Schema{{Type: skiff.TypeNothing}, text}}
	pair := skiff.Schema{Type: skiff.TypeTuple, Children: []skiff.Schema{text, {Type: skiff.TypeInt64}}}
	layout := skiff.Schema{Type: skiff.TypeTuple, Children: []skiff.Schema{
		{Type: skiff.TypeRepeatedVariant8, Name: "many", Children: []skiff.Schema{text}},
		{Type: skiff.TypeTuple, Name: "inner", Children: []skiff.Schema{{Type: skiff.TypeInt16, Name: "x"}, optional}},
		{Type: skiff.TypeRepeatedVariant8, Name: "by_name", Children: []skiff.Schema{pair}},
	}}
	format := skiff.Format{Name: "skiff", TableSchemas: []any{&layout}}
	reader, err := client.ReadTable(ctx, path, &yt.ReadTableOptions{Format: format})
	must("composites", err)
	var rows []string
	for reader.Next() {
		var next map[string]any
		must("composites", reader.Scan(&next))
		rows = append(rows, fmt.Sprint(next))
	}
	must("composites", reader.Err())
	same("composites", fmt.Sprint(rows), "[map[by_name:[[k 9]] inner:map[x:100 y:text] many:[a b]]]")
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for codec := yt.ClientCodecDefault; codec <= yt.ClientCodecBrotliDefault; codec++ {
		config := &yt.Config{Proxy: os.Args[1], DisableProxyDiscovery: true, CompressionCodec: codec}
		client, err := ythttp.NewClient(config)
		must("client", err)
		path := ypath.Path(os.Args[2])
		writeAndRead(ctx, fmt.Sprintf("codec %d, yson", codec), client, path, nil)
		writeAndRead(ctx, fmt.Sprintf("codec %d, skiff", codec), client, path, skiff.MustInferFormat(&row{}))
		readComposite(ctx, client, ypath.Path(os.Args[3]))
	}
	fmt.Println("all is well")
}
