#!/usr/bin/env bash
# @langchain/langgraph 1.7.3: one answer of a person answers all questions that are open, and sent again, the next one.
#
# Guess:    new Command({resume}) answers one question; with two open, as of nodes side by side, it is refused, as LangGraph for
#           Python does, or the second stays open.
# Behaviour: each node that waits gets the same value: "2" for "how many tickets?" is the answer to "how many hundred euros?", too. And
#           an answer names no question: a second click, or a request repeated after a timeout, answers what is asked next.
# Remedy:   resume: {[question.id]: answer}, by the ids in __interrupt__: others stay open, and a second time nothing happens.
#
# Needs Node. Exits with 1 if the library behaves otherwise.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @langchain/langgraph@1.7.3 @langchain/core@1.4.0 zod@4.6.7
cat >main.mjs <<'JS'
import {Annotation, Command, interrupt, MemorySaver, START, StateGraph} from '@langchain/langgraph';
const State = Annotation.Root({answers: Annotation({reducer: (a, b) => ({...a, ...b}), default: () => ({})})});
const ask = (name, question) => [name, () => ({answers: {[name]: interrupt(question)}})];
const tickets = ask('tickets', 'how many tickets?'), euros = ask('euros', 'how many hundred euros?');
const saved = {configurable: {thread_id: '1'}};
const made = graph => graph.compile({checkpointer: new MemorySaver()});
const graph = () => new StateGraph(State).addNode(...tickets).addNode(...euros);
const beside = () => made(graph().addEdge(START, 'tickets').addEdge(START, 'euros'));
const behind = () => made(graph().addEdge(START, 'tickets').addEdge('tickets', 'euros'));
const seen = {};
// answered is what a graph knows after "2" came for "how many tickets?" so many times.
const answered = async (name, graph, times, byId) => {
  const open = (await graph.invoke({}, saved)).__interrupt__;
  const resume = byId ? {[open.find(o => o.value === 'how many tickets?').id]: '2'} : '2';
  for (let i = 0; i < times; i++) await graph.invoke(new Command({resume}), saved);
  seen[name] = JSON.stringify((await graph.getState(saved)).values.answers, ['tickets', 'euros']);
};
await answered('side by side', beside(), 1, false);
await answered('one after the other, sent twice', behind(), 2, false);
await answered('side by side, by its id', beside(), 1, true);
await answered('one after the other, by its id, sent twice', behind(), 2, true);
console.log(seen);
const both = '{"tickets":"2","euros":"2"}', one = '{"tickets":"2"}';
process.exit(Object.values(seen).join() === [both, both, one, one].join() ? 0 : 1);
JS
echo "@langchain/langgraph 1.7.3, Node $(node --version)"
node main.mjs
