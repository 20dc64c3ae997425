"""The tables of a `.gscope` file.

Training steps repeat, so what repeats is stored once: the shape of a graph (`graph`, `node`, `edge`), the
tensors in it (`tensors`, `input_meta`, `saved`) and stretches of operators (`block`, `operation`, `written`) are
interned by content, and a `backward` or a `block_run` only points at them. History of SCHEMA:
1: first version.
2: what explanations, --tensors, --joint and --compiled-autograd need; measurements as packed numbers.
3: backward calls that were not watched.
4: when hooks were removed, what a hook that raised or was not observed did, where a backward stopped,
   what checkpoints compute again, and second names of parameters.
5: where torch's own modules were built.
6: tensors whose .grad was None where the program failed for that.
7: gradients of nodes in a sample of the steps.
8: the calls by which a program trains, learning rates, and how much steps change.
9: what collectives were given, and their process groups.
10: buffers of models of several ranks.
"""

from __future__ import annotations

APPLICATION_ID = 0x67534350  # "gSCP", shown by file(1)
SCHEMA = 10
OPEN_BLOCK = 1 << 40  # block_run numbers from here on: blocks that threads were still filling at the last commit

TABLES = """
-- the run: argv, cwd, versions, detail, status, ...: JSON values by name (model.run.Run's fields)
CREATE TABLE run (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
-- source text of the user's files, whole, so that lines can be shown on another machine
CREATE TABLE source (file INTEGER PRIMARY KEY REFERENCES string, text TEXT);

CREATE TABLE string (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
-- origin: 0 the user's code, 1 a library's, 2 torch's
CREATE TABLE frame (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, line INTEGER NOT NULL, function INTEGER NOT NULL, origin INTEGER NOT NULL);
-- a stack is its innermost frame and the stack of its caller (0: none)
CREATE TABLE stack (id INTEGER PRIMARY KEY, caller INTEGER NOT NULL, frame INTEGER NOT NULL);
-- a module call: its place among the calls of its caller (0: none); path and class are strings
CREATE TABLE call (id INTEGER PRIMARY KEY, caller INTEGER NOT NULL, path INTEGER NOT NULL, class INTEGER NOT NULL, position INTEGER NOT NULL, ordinal INTEGER NOT NULL, ordinals INTEGER NOT NULL);
-- shape is a JSON list
CREATE TABLE tensor_type (id INTEGER PRIMARY KEY, shape TEXT NOT NULL, dtype INTEGER NOT NULL, device INTEGER NOT NULL);
-- a custom autograd.Function; frames are 0 when its source is not known
CREATE TABLE function (id INTEGER PRIMARY KEY, name INTEGER NOT NULL, class_frame INTEGER NOT NULL, backward_frame INTEGER NOT NULL);

CREATE TABLE graph (id INTEGER PRIMARY KEY, nodes INTEGER NOT NULL, edges INTEGER NOT NULL);
-- number: the node's id in its graph. seq: sequence number less the backward's seq_base, NULL for AccumulateGrad.
-- levels: a string "Grad:1 Vmap:2". parent: id in this graph or NULL; parent_name and parent_stack: 0 when there is none.
-- leaf: a string, 0 when it is no leaf's node. 0 also stands for "none" in stack, call, op and function.
CREATE TABLE node (graph INTEGER NOT NULL, number INTEGER NOT NULL, name INTEGER NOT NULL, seq INTEGER, stack INTEGER NOT NULL,
  call INTEGER NOT NULL, op INTEGER NOT NULL, levels INTEGER NOT NULL, thread INTEGER NOT NULL, parent INTEGER,
  parent_name INTEGER NOT NULL, parent_stack INTEGER NOT NULL, leaf INTEGER NOT NULL, function INTEGER NOT NULL,
  PRIMARY KEY (graph, number)) WITHOUT ROWID;
CREATE TABLE edge (graph INTEGER NOT NULL, source INTEGER NOT NULL, output INTEGER NOT NULL, target INTEGER NOT NULL,
  input_nr INTEGER NOT NULL, PRIMARY KEY (graph, source, output)) WITHOUT ROWID;

CREATE TABLE tensors (id INTEGER PRIMARY KEY, saved_bytes INTEGER NOT NULL);  -- each storage counted once, those of leaves not at all
CREATE TABLE input_meta (tensors INTEGER NOT NULL, node INTEGER NOT NULL, position INTEGER NOT NULL, type INTEGER NOT NULL,  -- type 0: undefined
  PRIMARY KEY (tensors, node, position)) WITHOUT ROWID;
CREATE TABLE saved (tensors INTEGER NOT NULL, node INTEGER NOT NULL, position INTEGER NOT NULL, name INTEGER NOT NULL,
  type INTEGER NOT NULL, bytes INTEGER NOT NULL, storage INTEGER NOT NULL, leaf INTEGER NOT NULL,
  PRIMARY KEY (tensors, node, position)) WITHOUT ROWID;
-- the storages in saved, of no leaf, that the forward was given (data, buffers) rather than computed
CREATE TABLE given (tensors INTEGER NOT NULL, storage INTEGER NOT NULL, PRIMARY KEY (tensors, storage)) WITHOUT ROWID;
-- bytes that a non-reentrant checkpoint, numbered in its graph, computes again for a node that saved nothing
CREATE TABLE again (tensors INTEGER NOT NULL, node INTEGER NOT NULL, checkpoint INTEGER NOT NULL, bytes INTEGER NOT NULL,
  PRIMARY KEY (tensors, node, checkpoint)) WITHOUT ROWID;

-- roots and inputs: JSON lists of [node or null, input_nr]; inputs NULL when none were named. graph NULL: the call
-- raised before anything could be walked.
-- duration NULL: still running when the recording ended. exception: a string, 0 for none. stopped: the node in which it
-- raised, NULL when that is not known.
CREATE TABLE backward (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, graph INTEGER, tensors INTEGER, seq_base INTEGER NOT NULL,
  roots TEXT NOT NULL, inputs TEXT, keep_graph INTEGER NOT NULL, create_graph INTEGER NOT NULL, nested_in INTEGER, step INTEGER NOT NULL,
  thread INTEGER NOT NULL, stack INTEGER NOT NULL, started REAL NOT NULL, duration REAL, exception INTEGER NOT NULL, stopped INTEGER);
-- what --detail full measured: `layout` is what repeats from step to step, little-endian 32-bit integers: the nodes in
-- the order in which they were entered; rows of (node, thread) that ran to their end; rows of (node, side, position, row of
-- `statistics`). side 0: a gradient that the node received, 1: one that it passed on.
CREATE TABLE layout (id INTEGER PRIMARY KEY, entered BLOB NOT NULL, ran BLOB NOT NULL, gradients BLOB NOT NULL);
-- little-endian doubles: rows of (started, duration) as in `ran`; rows of (norm, max, zero share, NaN count, Inf count)
CREATE TABLE measurement (backward INTEGER PRIMARY KEY, layout INTEGER NOT NULL, times BLOB NOT NULL, statistics BLOB NOT NULL);

-- With --tensors only, for outermost backward calls; what nested ones do belongs to the node that they run in.
-- storage: the bytes of a storage before the backward first used it. Those that its operators make have numbers, but no row
CREATE TABLE storage (backward INTEGER NOT NULL, number INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (backward, number));
-- role: 0 a root gradient (node is then its place among the roots), 1 saved by the node (position as in saved)
CREATE TABLE tensor (backward INTEGER NOT NULL, role INTEGER NOT NULL, node INTEGER NOT NULL, position INTEGER NOT NULL, type INTEGER NOT NULL,
  storage INTEGER NOT NULL, PRIMARY KEY (backward, role, node, position)) WITHOUT ROWID;
-- an operator call. phase: 0 before the node (hooks), 1 inside it, 2 after it (sums). arguments: JSON [positional, by keyword], NULL when it
-- cannot be repeated. generator: the storage with the random state before it. A tensor in arguments, results, received or passed is
-- {"tensor": storage, "offset", "shape", "strides", "dtype", "device", "digest": BLAKE2b-64 of its elements}
CREATE TABLE dispatch (backward INTEGER NOT NULL, position INTEGER NOT NULL, node INTEGER, phase INTEGER NOT NULL, operator INTEGER NOT NULL,
  arguments TEXT, generator INTEGER, results TEXT, PRIMARY KEY (backward, position));
-- torch's switches when the backward started, as JSON values: threads, deterministic, mkldnn, matmul_precision, default_dtype
CREATE TABLE condition (backward INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (backward, name)) WITHOUT ROWID;
-- what a node received after its hooks and what it passed on: JSON lists of tensors and nulls
CREATE TABLE exchange (backward INTEGER NOT NULL, position INTEGER NOT NULL, node INTEGER NOT NULL, received TEXT NOT NULL, passed TEXT NOT NULL,
  PRIMARY KEY (backward, position));

CREATE TABLE hook (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, name INTEGER NOT NULL, target INTEGER NOT NULL, stack INTEGER NOT NULL);
-- which nodes of a backward's graph held which hook when it started
CREATE TABLE hook_on (backward INTEGER NOT NULL, hook INTEGER NOT NULL, node INTEGER NOT NULL, PRIMARY KEY (backward, hook, node)) WITHOUT ROWID;
-- the first backward that began after a hook was registered, which was then still in place; until: the first after it was
-- removed, or what it hangs on was gone, NULL while it is there
CREATE TABLE hook_since (hook INTEGER PRIMARY KEY, backward INTEGER NOT NULL, until INTEGER);
-- changed: 0 the gradient was left alone, 1 another one was returned, 2 it, or the parameter of a post_accumulate hook, was edited in place,
-- 3 the hook raised, 4 nobody saw what it did
-- norm_before, norm_after (of the gradient) and duration: NULL below --detail full
CREATE TABLE firing (backward INTEGER NOT NULL, position INTEGER NOT NULL, hook INTEGER NOT NULL, node INTEGER, changed INTEGER NOT NULL,
  norm_before REAL, norm_after REAL, duration REAL, PRIMARY KEY (backward, position)) WITHOUT ROWID;

-- a torch.func transform that was pushed, each distinct one once: outer: the transform around it, 0 for none; kind: Vmap, Grad,
-- Jvp or Functionalize; randomness: a string
CREATE TABLE transform (number INTEGER PRIMARY KEY, outer INTEGER NOT NULL, kind TEXT NOT NULL, level INTEGER NOT NULL, stack INTEGER NOT NULL,
  batch_size INTEGER, randomness INTEGER NOT NULL, calls INTEGER NOT NULL);
-- a parameter that modules share has one name in `leaf`, and others
CREATE TABLE second_name (other INTEGER NOT NULL, name INTEGER NOT NULL, PRIMARY KEY (other, name)) WITHOUT ROWID;
-- a tensor that outlived its transform: where it was made, as what the script keeps it, and the name by which the script's
-- code puts it there: an attribute's, a variable's, a key's; 0 when it is not known
CREATE TABLE escaped (transform INTEGER NOT NULL, stack INTEGER NOT NULL, name INTEGER NOT NULL, holder INTEGER NOT NULL);

-- how custom Functions were called, each kind of call once: function is "module.Name", arguments a JSON list with an object
-- an argument: {"dtype", "shape", "strides", "requires_grad"} for a tensor, {"value"} for plain data, else {}
CREATE TABLE function_call (function TEXT NOT NULL, arguments TEXT NOT NULL);

-- a run that was killed leaves the blocks that its threads were filling: their ids are negative, their runs the last ones
CREATE TABLE block (id INTEGER PRIMARY KEY, operations INTEGER NOT NULL, writes INTEGER NOT NULL);
-- node: the id, in the graph of the block's backward, of the node that the operator ran in; grad: 0 under no_grad
CREATE TABLE operation (block INTEGER NOT NULL, number INTEGER NOT NULL, name INTEGER NOT NULL, stack INTEGER NOT NULL,
  call INTEGER NOT NULL, node INTEGER, grad INTEGER NOT NULL, PRIMARY KEY (block, number)) WITHOUT ROWID;
-- version: less the storage's first one in block_run.versions; NULL: the tensor has none. leaf: a string, 0 for none
CREATE TABLE written (block INTEGER NOT NULL, operation INTEGER NOT NULL, position INTEGER NOT NULL, argument INTEGER NOT NULL,
  version INTEGER, storage INTEGER NOT NULL, leaf INTEGER NOT NULL, PRIMARY KEY (block, operation, position)) WITHOUT ROWID;
-- versions: a JSON list, by storage, of the version at the first write; NULL when all are 0. watched: 0 for a backward
-- that was taken to run what those like it had run
CREATE TABLE block_run (number INTEGER PRIMARY KEY, block INTEGER NOT NULL, thread INTEGER NOT NULL, backward INTEGER, started REAL NOT NULL,
  versions TEXT, watched INTEGER NOT NULL);

-- a process group: torch's name for it, its backend, and its ranks as a JSON list. before: how many collectives torch had
-- counted in it when it was first seen, NULL when torch does not count
CREATE TABLE process_group (number INTEGER PRIMARY KEY, name INTEGER NOT NULL, backend INTEGER NOT NULL, members TEXT NOT NULL, before INTEGER);
-- what collectives are given, each distinct one once. types: a JSON list, of the tensors that are sent, or received into;
-- bytes: of all of them; peer: the rank that sends or receives, or the root, NULL where there is none
CREATE TABLE collective (id INTEGER PRIMARY KEY, process_group INTEGER NOT NULL, types TEXT NOT NULL, bytes INTEGER NOT NULL, peer INTEGER,
  asynchronous INTEGER NOT NULL);
-- a collective that was entered: the last operator of its block. sequence: how many its group had entered since it was first seen,
-- NULL between two ranks, and once steps were left out
CREATE TABLE collective_run (number INTEGER PRIMARY KEY, collective INTEGER NOT NULL, block_run INTEGER NOT NULL, sequence INTEGER);
-- the block that ends with the operator that first waited for the result of an asynchronous one
CREATE TABLE collective_wait (collective_run INTEGER PRIMARY KEY, block_run INTEGER NOT NULL);
-- a leaf whose gradient a collective was given; looked for where leaf_size is measured
CREATE TABLE reduced_gradient (collective_run INTEGER NOT NULL, leaf INTEGER NOT NULL, PRIMARY KEY (collective_run, leaf)) WITHOUT ROWID;

-- With --joint only: what torch.compile cut in two. A region's stack is where its function is defined; name and compile_id are strings
CREATE TABLE joint_region (number INTEGER PRIMARY KEY, name INTEGER NOT NULL, compile_id INTEGER NOT NULL, stack INTEGER NOT NULL);
-- op, module and label: strings, 0 for none. phase: 0 forward, 1 backward. type: 0 when it is no single tensor; storage is then -1.
-- inputs and uses: JSON lists of nodes. addition_of: the node whose gradients are added, used by the nodes in uses
CREATE TABLE joint_node (region INTEGER NOT NULL, number INTEGER NOT NULL, name INTEGER NOT NULL, op INTEGER NOT NULL, phase INTEGER NOT NULL,
  type INTEGER NOT NULL, bytes INTEGER NOT NULL, storage INTEGER NOT NULL, stack INTEGER NOT NULL, seq INTEGER, inputs TEXT NOT NULL,
  module INTEGER NOT NULL, label INTEGER NOT NULL, addition_of INTEGER, uses TEXT NOT NULL, PRIMARY KEY (region, number)) WITHOUT ROWID;
-- saved: a JSON list of nodes. used: whether it is the one that the program's compiler chose
CREATE TABLE joint_partition (region INTEGER NOT NULL, position INTEGER NOT NULL, name INTEGER NOT NULL, saved TEXT NOT NULL, used INTEGER NOT NULL,
  PRIMARY KEY (region, position)) WITHOUT ROWID;
-- half: 0 forward, 1 backward
CREATE TABLE joint_step (region INTEGER NOT NULL, partition INTEGER NOT NULL, half INTEGER NOT NULL, position INTEGER NOT NULL, node INTEGER NOT NULL,
  inputs TEXT NOT NULL, PRIMARY KEY (region, partition, half, position)) WITHOUT ROWID;
-- region NULL: a graph break, which belongs to none
CREATE TABLE joint_fact (region INTEGER, kind INTEGER NOT NULL, text INTEGER NOT NULL, stack INTEGER NOT NULL);

-- With --compiled-autograd only: backward calls captured as graphs. reason: a string, torch's words; sizes: a JSON list of
-- [value at the capture, 1 when the graph uses it]. backward: the number of the call, NULL when it is not known
CREATE TABLE compiled_capture (number INTEGER PRIMARY KEY, reason INTEGER NOT NULL, stack INTEGER NOT NULL, sizes TEXT NOT NULL, backward INTEGER);
-- op, node, hook and label: strings, 0 for none; node_call: the place of the node in eager order, from 1. inputs: a JSON list of positions
CREATE TABLE compiled_step (capture INTEGER NOT NULL, position INTEGER NOT NULL, kind TEXT NOT NULL, op INTEGER NOT NULL, node INTEGER NOT NULL,
  node_call INTEGER, hook INTEGER NOT NULL, label INTEGER NOT NULL, stack INTEGER NOT NULL, inputs TEXT NOT NULL,
  PRIMARY KEY (capture, position)) WITHOUT ROWID;
-- hit: 1 when its graph had been captured before. sizes: a JSON list, of the sizes that the graph uses
CREATE TABLE compiled_run (capture INTEGER NOT NULL, hit INTEGER NOT NULL, stack INTEGER NOT NULL, backward INTEGER, sizes TEXT NOT NULL);

-- what a backward that raised found in its graph. stale: a saved tensor whose version has moved on since it was saved;
-- trail: the block runs, and the storage's number in each, in which its storage was written; reused: a node that an earlier
-- backward had run (there it was earlier_node), one that freed its graph before one that kept it; freed: what it saved is gone
CREATE TABLE stale (backward INTEGER NOT NULL, node INTEGER NOT NULL, name INTEGER NOT NULL, expected INTEGER NOT NULL,
  version INTEGER NOT NULL, PRIMARY KEY (backward, node, name)) WITHOUT ROWID;
CREATE TABLE trail (backward INTEGER NOT NULL, node INTEGER NOT NULL, name INTEGER NOT NULL, block_run INTEGER NOT NULL,
  storage INTEGER NOT NULL, PRIMARY KEY (backward, node, name, block_run, storage)) WITHOUT ROWID;
CREATE TABLE reused (backward INTEGER NOT NULL, node INTEGER NOT NULL, earlier INTEGER NOT NULL, earlier_node INTEGER NOT NULL,
  freed INTEGER NOT NULL, PRIMARY KEY (backward, node)) WITHOUT ROWID;
-- a saved tensor that was written without autograd and with no new version, by way of .data or under no_grad; late: after
-- it was saved, else between the node that made it and the one that saved it
CREATE TABLE hidden_write (backward INTEGER NOT NULL, node INTEGER NOT NULL, name INTEGER NOT NULL, op INTEGER NOT NULL,
  stack INTEGER NOT NULL, late INTEGER NOT NULL, PRIMARY KEY (backward, node, name, op, stack)) WITHOUT ROWID;

-- where one of torch's own modules, or one that edits its input in place, was built; path and class as in call
CREATE TABLE declaration (path INTEGER NOT NULL, class INTEGER NOT NULL, stack INTEGER NOT NULL, inplace INTEGER NOT NULL,
  PRIMARY KEY (path, class, stack)) WITHOUT ROWID;
-- a NaN or Inf that an operator gave for finite arguments (kind 'born'), or a NaN that came in with an argument ('entered', named
-- in argument); node: the id in the graph of its backward; evidence: JSON (model.birth.Evidence); masked and masked_by: the operator
-- and the stack that gave something finite for it, 0 for none
CREATE TABLE birth (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, step INTEGER NOT NULL, thread INTEGER NOT NULL, backward INTEGER, node INTEGER,
  operator INTEGER NOT NULL, stack INTEGER NOT NULL, call INTEGER NOT NULL, argument INTEGER NOT NULL, evidence TEXT NOT NULL,
  masked INTEGER NOT NULL, masked_by INTEGER NOT NULL);
-- what was not finite when a backward began (place 'root') or had ended ('gradient', of the leaf named); birth: where that came from
CREATE TABLE nonfinite (backward INTEGER NOT NULL, place TEXT NOT NULL, leaf INTEGER NOT NULL, birth INTEGER, nan INTEGER NOT NULL, inf INTEGER NOT NULL);

-- after the backward calls 0, 1, 2, 4, 8, ...: the norms of a leaf's gradient and of the leaf, as Python prints them
CREATE TABLE leaf_size (backward INTEGER NOT NULL, leaf INTEGER NOT NULL, gradient TEXT NOT NULL, weight TEXT NOT NULL, zero_share REAL NOT NULL,
  count INTEGER NOT NULL, PRIMARY KEY (backward, leaf)) WITHOUT ROWID;
-- after the same calls, where there are several ranks: the norm of a buffer that a state_dict() has, as Python prints it, of
-- whole numbers that of each times its place; left_alone: 1 where DistributedDataParallel was told not to broadcast it, 2 for a
-- parameter of a model that is built as one that trains, and has no gradient, 3 for a parameter in the graph of the first
-- torch.autograd.grad() after a step, counted by these steps, as long as no backward() was called, or another leaf that it
-- is asked for; where no optimizer steps, what moves a leaf is a step,
-- 4 for one of several leaves without a name, called by the node and the backward in which it was seen first,
-- 5 for a tensor that is neither a leaf's nor a buffer and lives on, called by its number in flow_tensor
CREATE TABLE buffer_size (backward INTEGER NOT NULL, name INTEGER NOT NULL, norm TEXT NOT NULL, left_alone INTEGER NOT NULL,
  PRIMARY KEY (backward, name)) WITHOUT ROWID;
-- in the backward calls 0, 1, 2, 4, 8, ...: the largest magnitude of the gradient that a node received, of some of the
-- nodes of each line that made many, and, of several ranks, of custom Functions and what a loss was before its division;
-- as Python prints it
CREATE TABLE node_size (backward INTEGER NOT NULL, node INTEGER NOT NULL, size TEXT NOT NULL, PRIMARY KEY (backward, node)) WITHOUT ROWID;
-- what a probe saw and what says by itself what it means, once for a stack
CREATE TABLE notice (what TEXT NOT NULL, stack INTEGER NOT NULL, PRIMARY KEY (what, stack)) WITHOUT ROWID;
-- The way of tensors through operators, in the first steps and after new operators. A tensor's storage is a number;
-- name: a leaf's, 0 for none. side: 0 read, 1 made; requires_grad: as it was when it was read,
-- 2 for a leaf.
CREATE TABLE flow_tensor (number INTEGER PRIMARY KEY, storage INTEGER NOT NULL, type INTEGER NOT NULL, name INTEGER NOT NULL, parameter INTEGER NOT NULL);
CREATE TABLE flow (block_run INTEGER NOT NULL, position INTEGER NOT NULL, operation INTEGER NOT NULL, side INTEGER NOT NULL,
  tensor INTEGER NOT NULL, requires_grad INTEGER NOT NULL, PRIMARY KEY (block_run, position)) WITHOUT ROWID;
-- where a backward starts (side 0), and what it is asked for (side 1)
CREATE TABLE flow_end (backward INTEGER NOT NULL, side INTEGER NOT NULL, position INTEGER NOT NULL, tensor INTEGER NOT NULL,
  requires_grad INTEGER NOT NULL, PRIMARY KEY (backward, side, position)) WITHOUT ROWID;

-- A look at an optimizer before its step `count`; backward: the last call before it. state: of .grad, 0 None, 1 zeros,
-- 2 other values, 3 the parameter requires no grad. tensor: a flow_tensor's number
CREATE TABLE optimizer_step (number INTEGER PRIMARY KEY, optimizer INTEGER NOT NULL, name INTEGER NOT NULL, count INTEGER NOT NULL, backward INTEGER, stack INTEGER NOT NULL);
CREATE TABLE optimizer_parameter (look INTEGER NOT NULL, position INTEGER NOT NULL, name INTEGER NOT NULL, tensor INTEGER NOT NULL, state INTEGER NOT NULL,
  PRIMARY KEY (look, position)) WITHOUT ROWID;
-- the state of a leaf's .grad when a backward starts; node: the leaf's in the graph
CREATE TABLE leaf_gradient (backward INTEGER NOT NULL, node INTEGER NOT NULL, tensor INTEGER NOT NULL, state INTEGER NOT NULL,
  PRIMARY KEY (backward, node)) WITHOUT ROWID;

-- the calls by which a program trains (model.training), in the order in which a thread makes them between two backward
-- calls: a sequence is stored once. optimizer: a number, 0 for none; module: a string, 0 for none; backward: the call that
-- came next, NULL at the end
CREATE TABLE interval (id INTEGER PRIMARY KEY, calls INTEGER NOT NULL);
CREATE TABLE training_call (interval INTEGER NOT NULL, position INTEGER NOT NULL, kind INTEGER NOT NULL, optimizer INTEGER NOT NULL,
  module INTEGER NOT NULL, stack INTEGER NOT NULL, count INTEGER NOT NULL, total INTEGER NOT NULL, PRIMARY KEY (interval, position)) WITHOUT ROWID;
CREATE TABLE interval_run (number INTEGER PRIMARY KEY, thread INTEGER NOT NULL, backward INTEGER, interval INTEGER NOT NULL);
-- the value that a backward started from, where it was one number, as Python prints it
CREATE TABLE loss (backward INTEGER PRIMARY KEY, value TEXT NOT NULL);
-- the factor of a GradScaler when it stepped after a backward, as Python prints it
CREATE TABLE scale (backward INTEGER PRIMARY KEY, value TEXT NOT NULL);
-- the learning rate of an optimizer's group from its step `count` on, as Python prints it; at -1 the one that a schedule goes by
CREATE TABLE learning_rate (optimizer INTEGER NOT NULL, count INTEGER NOT NULL, part INTEGER NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (optimizer, count, part)) WITHOUT ROWID;
-- how many of a parameter's elements that were looked at changed in an optimizer's step `count`; name: a string
CREATE TABLE parameter_update (optimizer INTEGER NOT NULL, count INTEGER NOT NULL, position INTEGER NOT NULL, name INTEGER NOT NULL,
  changed INTEGER NOT NULL, elements INTEGER NOT NULL, PRIMARY KEY (optimizer, count, position)) WITHOUT ROWID;

-- nodes made in step `made` that still live at the end of step `step`, by the stack that made them; youngest: grows in
-- the order in which nodes are made
CREATE TABLE survivor (step INTEGER NOT NULL, made INTEGER NOT NULL, stack INTEGER NOT NULL, count INTEGER NOT NULL, youngest INTEGER NOT NULL, PRIMARY KEY (step, made, stack)) WITHOUT ROWID;
-- what holds the tensor that such a node made: "list", "variable", "attribute", ...; its name; whose name that is; how many
-- of those nodes it keeps. stack: of the node of the tensor that is held
CREATE TABLE holder (stack INTEGER NOT NULL, kind INTEGER NOT NULL, name INTEGER NOT NULL, owner INTEGER NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY (stack, kind, name, owner)) WITHOUT ROWID;

-- an exception that nobody caught; backward: the number of the call that it came out of
CREATE TABLE failure (kind INTEGER NOT NULL, message INTEGER NOT NULL, stack INTEGER NOT NULL, thread INTEGER NOT NULL, backward INTEGER);
-- a tensor whose .grad was None at the line of an uncaught exception that speaks of None. name: a string, as it is written there or a
-- parameter's. tensor: a flow_tensor's number. made: the stack that made its node, 0 for a leaf. stack: the exception's
CREATE TABLE missing_grad (name INTEGER NOT NULL, tensor INTEGER NOT NULL, leaf INTEGER NOT NULL, requires_grad INTEGER NOT NULL,
  made INTEGER NOT NULL, stack INTEGER NOT NULL);
-- a custom Function out of whose apply an exception came that nobody caught
CREATE TABLE failing_function (function INTEGER NOT NULL);
-- a custom Function whose forward wrote one of its inputs that require grad
CREATE TABLE input_edit (function INTEGER NOT NULL, op INTEGER NOT NULL, stack INTEGER NOT NULL, PRIMARY KEY (function, op, stack)) WITHOUT ROWID;
-- a floating tensor without a gradient that a Function's ctx held as an attribute in a backward with create_graph
CREATE TABLE on_context (backward INTEGER NOT NULL, node INTEGER NOT NULL, name INTEGER NOT NULL, PRIMARY KEY (backward, node, name)) WITHOUT ROWID;
-- a tensor that a custom Function's forward read without being given it while torch.func differentiated the tensor; name: as
-- the code reaches it; stack: of the operator that read it
CREATE TABLE captured (function INTEGER NOT NULL, name INTEGER NOT NULL, stack INTEGER NOT NULL, PRIMARY KEY (function, name, stack)) WITHOUT ROWID;
CREATE TABLE fault (probe TEXT NOT NULL, message TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (probe, message)) WITHOUT ROWID;
CREATE TABLE dropped (reason TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
"""
