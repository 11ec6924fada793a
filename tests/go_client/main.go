// What the Go SDK does over RPC, step by step, against the cluster whose HTTP proxy is named: `go run . 127.0.0.1:8001`.
package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"time"

	"go.ytsaurus.tech/yt/go/schema"
	"go.ytsaurus.tech/yt/go/ypath"
	"go.ytsaurus.tech/yt/go/yt"
	"go.ytsaurus.tech/yt/go/yt/ytrpc"
	"go.ytsaurus.tech/yt/go/yterrors"
)

const home = ypath.Path("//home/go")

type row struct {
	Key   string `yson:"key,key"`
	Value int64  `yson:"value"`
	Any   any    `yson:"any"`
}

type key struct {
	Key string `yson:"key"`
}

type message struct {
	Data string `yson:"data"`
}

func must(step string, err error) {
	if err != nil {
		fmt.Printf("%s: %v\n", step, err)
		os.Exit(1)
	}
}

func same(step string, got, want any) {
	if !reflect.DeepEqual(got, want) {
		must(step, fmt.Errorf("got %#v, want %#v", got, want))
	}
}

func read[T any](step string, reader yt.TableReader, err error) (rows []T) {
	must(step, err)
	for reader.Next() {
		var next T
		must(step, reader.Scan(&next))
		rows = append(rows, next)
	}
	must(step, reader.Err())
	return rows
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := ytrpc.NewClient(&yt.Config{Proxy: os.Args[1]})
	must("client", err)
	defer client.Stop()
	tree(ctx, client)
	masterTransaction(ctx, client)
	sortedTable(ctx, client)
	queue(ctx, client)
	fmt.Println("all is well")
}

func tree(ctx context.Context, client yt.Client) {
	_, err := client.CreateNode(ctx, home, yt.NodeMap, &yt.CreateNodeOptions{Recursive: true})
	must("create", err)
	must("set", client.SetNode(ctx, home.Attr("note"), map[string]any{"a": int64(1)}, nil))
	var note any
	must("get", client.GetNode(ctx, home.Attr("note"), &note, nil))
	same("get", note, map[string]any{"a": int64(1)})
	_, err = client.CreateNode(ctx, home.Child("made"), yt.NodeMap, nil)
	must("create below", err)
	_, err = client.CopyNode(ctx, home.Child("made"), home.Child("copy"), nil)
	must("copy", err)
	_, err = client.MoveNode(ctx, home.Child("copy"), home.Child("moved"), nil)
	must("move", err)
	_, err = client.LinkNode(ctx, home.Child("moved"), home.Child("link"), nil)
	must("link", err)
	var found []struct {
		Name string `yson:",value"`
		Type string `yson:"type,attr"`
	}
	must("list", client.ListNode(ctx, home, &found, &yt.ListNodeOptions{Attributes: []string{"type"}}))
	same("list", len(found), 3)
	must("remove", client.RemoveNode(ctx, home.Child("link"), nil))
	exists, err := client.NodeExists(ctx, home.Child("link"), nil)
	must("exists", err)
	same("exists", exists, false)
	err = client.GetNode(ctx, home.Child("nope"), &note, nil)
	same("resolve error", yterrors.ContainsErrorCode(err, yterrors.CodeResolveError), true)
}

func masterTransaction(ctx context.Context, client yt.Client) {
	tx, err := client.BeginTx(ctx, nil)
	must("begin", err)
	_, err = tx.CreateNode(ctx, home.Child("inside"), yt.NodeMap, nil)
	must("create in transaction", err)
	lock, err := tx.LockNode(ctx, home.Child("inside"), yt.LockExclusive, nil)
	must("lock", err)
	same("lock", lock.LockID.String() == "0-0-0-0", false)
	exists, err := client.NodeExists(ctx, home.Child("inside"), nil)
	must("exists outside", err)
	same("exists outside", exists, false)
	must("commit", tx.Commit())
}

func sortedTable(ctx context.Context, client yt.Client) {
	path := home.Child("table")
	columns := schema.Schema{UniqueKeys: true, Columns: []schema.Column{
		{Name: "key", ComplexType: schema.TypeString, SortOrder: schema.SortAscending},
		{Name: "value", ComplexType: schema.Optional{Item: schema.TypeInt64}},
		{Name: "any", ComplexType: schema.Optional{Item: schema.TypeAny}},
	}}
	_, err := client.CreateNode(ctx, path, yt.NodeTable, &yt.CreateNodeOptions{
		Attributes: map[string]any{"dynamic": true, "schema": columns},
	})
	must("create table", err)
	must("mount", client.MountTable(ctx, path, nil))
	a, b := row{"a", 1, map[string]any{"x": int64(1)}}, row{"b", -2, "s"}
	must("insert", client.InsertRows(ctx, path, []any{a, b}, nil))
	reader, err := client.SelectRows(ctx, fmt.Sprintf("* from [%s]", path), nil)
	same("select", read[row]("select", reader, err), []row{a, b})
	reader, err = client.LookupRows(ctx, path, []any{key{"b"}, key{"no"}}, nil)
	same("lookup", read[row]("lookup", reader, err), []row{b})
	tx, err := client.BeginTabletTx(ctx, nil)
	must("begin tablet transaction", err)
	c := row{"c", 3, nil}
	must("insert in transaction", tx.InsertRows(ctx, path, []any{c}, nil))
	must("delete in transaction", tx.DeleteRows(ctx, path, []any{key{"a"}}, nil))
	must("commit", tx.Commit())
	reader, err = client.SelectRows(ctx, fmt.Sprintf("* from [%s]", path), nil)
	same("select after commit", read[row]("select", reader, err), []row{b, c})
	must("freeze", client.FreezeTable(ctx, path, nil))
	must("unfreeze", client.UnfreezeTable(ctx, path, nil))
	must("remount", client.RemountTable(ctx, path, nil))
	must("unmount", client.UnmountTable(ctx, path, nil))
	err = client.InsertRows(ctx, path, []any{a}, nil)
	same("not mounted", yterrors.ContainsErrorCode(err, yterrors.CodeTabletNotMounted), true)
	timestamp, err := client.GenerateTimestamp(ctx, nil)
	must("timestamp", err)
	same("timestamp", timestamp > 1<<60, true)
	allowed, err := client.CheckPermission(ctx, "root", yt.PermissionWrite, path, nil)
	must("permission", err)
	same("permission", allowed.Action, yt.ActionAllow)
}

func queue(ctx context.Context, client yt.Client) {
	path, consumer, producer := home.Child("queue"), home.Child("consumer"), home.Child("producer")
	columns := schema.Schema{Columns: []schema.Column{
		{Name: "data", ComplexType: schema.TypeString},
		{Name: "$timestamp", ComplexType: schema.Optional{Item: schema.TypeUint64}},
	}}
	_, err := client.CreateNode(ctx, path, yt.NodeTable, &yt.CreateNodeOptions{
		Attributes: map[string]any{"dynamic": true, "schema": columns},
	})
	must("create queue", err)
	must("mount queue", client.MountTable(ctx, path, nil))
	_, err = client.CreateNode(ctx, consumer, "queue_consumer", nil)
	must("create consumer", err)
	_, err = client.CreateNode(ctx, producer, "queue_producer", nil)
	must("create producer", err)
	vital, partition, zero, one, two := true, int32(0), int64(0), int64(1), int64(2)
	must("register", client.RegisterQueueConsumer(ctx, path, consumer, &yt.RegisterQueueConsumerOptions{Vital: &vital}))
	must("insert", client.InsertRows(ctx, path, []any{message{"one"}, message{"two"}}, nil))
	pull := &yt.PullQueueConsumerOptions{PartitionIndex: &partition, Offset: &one}
	reader, pulled, err := client.PullQueueConsumer(ctx, consumer, path, pull)
	same("pull", read[message]("pull", reader, err), []message{{"two"}})
	same("pull", pulled.StartOffset, one)
	tx, err := client.BeginTabletTx(ctx, nil)
	must("begin", err)
	advance := &yt.AdvanceQueueConsumerOptions{PartitionIndex: &partition, OldOffset: &zero, NewOffset: &two}
	must("advance", tx.AdvanceQueueConsumer(ctx, consumer, path, advance))
	must("commit", tx.Commit())
	pull = &yt.PullQueueConsumerOptions{PartitionIndex: &partition}
	reader, pulled, err = client.PullQueueConsumer(ctx, consumer, path, pull)
	same("pull on", read[message]("pull on", reader, err), []message(nil))
	same("pull on", pulled.StartOffset, two)
	session, err := client.CreateQueueProducerSession(ctx, producer, path, "s", nil)
	must("session", err)
	first := int64(5)
	options := &yt.PushQueueProducerOptions{SequenceNumber: &first}
	pushed, err := client.PushQueueProducer(ctx, producer, path, "s", session.Epoch, []any{message{"three"}}, options)
	must("push", err)
	same("push", pushed.LastSequenceNumber, first)
	must("remove session", client.RemoveQueueProducerSession(ctx, producer, path, "s", nil))
}
