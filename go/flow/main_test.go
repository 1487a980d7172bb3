package flow_test

import (
	"os"
	"testing"

	"github.com/sluicegate/sluicegate/go/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }
