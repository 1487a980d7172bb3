package capi

import "testing"

// Go ends a process that has a pointer into the first page on a stack it moves: no handle may look like one.
func TestNoHandleLooksLikeAPointerIntoTheFirstPage(t *testing.T) {
	var own table
	first := own.put("first")
	own.drop(first)
	if again := own.put("again"); again != first || own.get(again) != "again" {
		t.Error("a handle that is free is the next one:", first, again)
	}
	if next := own.put("next"); first < 4096 || next <= first || own.get(next) != "next" {
		t.Error("the first handles:", first, next)
	}
}
