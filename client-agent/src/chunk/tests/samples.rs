//! One small sample a language with the chunks it gives: names, item types, line ranges, test flags.

use std::fmt::Write;

use crate::chunk::tests::{assert_invariants, text};
use crate::chunk::{ChunkBudget, ParseOutcome, chunk_file};

/// A sample and the chunks expected at 120 characters, one a line: `lines item name [test]`.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) path: &'static str,
    language: &'static str,
    pub(super) text: &'static str,
    chunks: &'static str,
}

pub(super) const SAMPLES: &[Sample] = &[
    Sample {
        path: "src/Cart.kt",
        language: "kotlin",
        text: r#"package shop

import java.time.Instant
import shop.model.Item

/** Things somebody means to buy. */
class Cart(private val owner: String) {
    private val items = mutableListOf<Item>()

    /** Adds one thing, or raises its count. */
    fun add(item: Item, count: Int = 1) {
        items.find { it.id == item.id }?.let { it.count += count } ?: items.add(item)
    }

    @Deprecated("use total")
    fun sum(): Long = items.sumOf { it.price * it.count }
}

enum class State { OPEN, PAID, SENT }

interface Clock {
    fun now(): Instant
    fun millisecondsSinceTheEpochAsTheServerCountsThem(): Long
    fun zone(): String
}

object Carts {
    fun open(owner: String) = Cart(owner)
}
"#,
        chunks: "\
1-4 Import -
6-8 Class Cart
10-13 Method add
15-19 Method sum
21-25 Interface Clock
27-29 Class Carts
",
    },
    Sample {
        path: "src/Queue.java",
        language: "java",
        text: r#"package work;

import java.util.ArrayDeque;
import java.util.Deque;

/** First in, first out. */
public class Queue<T> {
    private final Deque<T> inner = new ArrayDeque<>();

    public Queue() {}

    /** Takes the eldest, or null where there is none. */
    @Override
    public T take() {
        synchronized (inner) {
            return inner.isEmpty() ? null : inner.removeFirst();
        }
    }

    @Test
    void takesInOrder() {
        assertEquals(1, queueOf(1, 2, 3).take(), "the eldest comes first, always, whatever was put in between");
    }
}

interface Closeable { void close() throws Exception; }

enum Level { LOW, MIDDLE, HIGH }
"#,
        chunks: "\
1-4 Import -
6-10 Class Queue
12-18 Method take
20-24 Test takesInOrder test
26-28 Interface Closeable
",
    },
    Sample {
        path: "src/cache.py",
        language: "python",
        text: r#""""A cache."""
import functools
from typing import Any

LIMIT = 128


class Cache:
    """Keeps the last values."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.values: dict[str, Any] = {}

    # The eldest entry goes first.
    @property
    def full(self) -> bool:
        return len(self.values) >= self.limit

    async def load(self, key: str, reader) -> Any:
        if key not in self.values:
            self.values[key] = await reader(key)
        return self.values[key]


@functools.lru_cache(maxsize=None)
def digits(number: int) -> int:
    return len(str(abs(number)))
"#,
        chunks: "\
1-5 Field LIMIT
8-13 Class Cache
15-18 Method full
20-23 Method load
26-28 Function digits
",
    },
    Sample {
        path: "src/router.js",
        language: "javascript",
        text: r#"import { parse } from './parse.js';

// Routes by first match.
export class Router {
  #routes = [];

  add(pattern, handler) {
    this.#routes.push({ pattern: parse(pattern), handler });
    return this;
  }

  match(path) {
    for (const route of this.#routes) {
      if (route.pattern.test(path)) return route.handler;
    }
    return null;
  }
}

export const notFound = (request) => new Response(`no ${request.url}`, { status: 404 });

function* pages(limit) { for (let n = 0; n < limit; n++) yield n; }

module.exports.once = function (callback) {
  let done = false;
  return () => { if (!done) { done = true; callback(); } };
};

describe("router", () => {
  it("finds the first", () => { expect(new Router().add("/a", f).match("/a")).toBe(f); });
});
"#,
        chunks: "\
1-1 Import -
3-5 Class Router
7-10 Method add
12-18 Method match
20-20 Function notFound
22-22 Function pages
24-27 Function module.exports.once
29-31 Test router test
",
    },
    Sample {
        path: "src/store.ts",
        language: "typescript",
        text: r"import type { Row } from './row';

export interface Store<T extends Row> {
  get(id: string): Promise<T | undefined>;
  put(row: T): Promise<void>;
  readonly size: number;
}

export type Key = string | number;

export enum Order { Up, Down }

/** Keeps rows in memory. */
export abstract class MemoryStore<T extends Row> implements Store<T> {
  private rows = new Map<string, T>();

  @traced()
  async get(id: string): Promise<T | undefined> {
    return this.rows.get(id);
  }

  abstract put(row: T): Promise<void>;

  get size(): number { return this.rows.size; }
}

declare namespace Legacy { function open(name: string): Store<Row>; }
",
        chunks: "\
1-1 Import -
3-7 Interface Store
9-11 Class Key
13-15 Class MemoryStore
17-22 Method get
24-27 Method size
",
    },
    Sample {
        path: "src/list.tsx",
        language: "typescript",
        text: r#"import React from 'react';

interface Props { items: string[]; onPick(item: string): void }

export function List({ items, onPick }: Props) {
  return (
    <ul className="list">
      {items.map((item) => (
        <li key={item} onClick={() => onPick(item)}>
          {item}
        </li>
      ))}
    </ul>
  );
}

export const Empty = () => <p>Nothing here yet</p>;
"#,
        chunks: "\
1-3 Interface Props
5-5 Function List
6-15 Function List
17-17 Function Empty
",
    },
    Sample {
        path: "src/Account.cs",
        language: "csharp",
        text: r"using System;
using System.Collections.Generic;

namespace Bank
{
    /// <summary>Money of one customer.</summary>
    [Serializable]
    public class Account
    {
        private decimal balance;

        public Account(decimal opening)
        {
            balance = opening;
        }

        /// <summary>Takes money out, if there is enough.</summary>
        public bool Withdraw(decimal amount)
        {
            if (amount > balance) return false;
            balance -= amount;
            return true;
        }

        [Fact]
        public void RefusesWhatIsNotThere() { Assert.False(new Account(1).Withdraw(2)); }
    }

    public interface ILedger { void Book(Account account, decimal amount); }

    public enum Currency { Euro, Franc }
}
",
        chunks: "\
1-2 Import -
4-5 Section Bank
6-10 Class Account
12-15 Method Account
17-23 Method Withdraw
25-27 Test RefusesWhatIsNotThere test
29-32 Interface ILedger
",
    },
    Sample {
        path: "src/Mailer.php",
        language: "php",
        text: r#"<?php
namespace App\Mail;

use App\Queue;

/** Sends mail later. */
final class Mailer implements Sender
{
    private array $pending = [];

    public function __construct(private Queue $queue) {}

    #[Traced]
    public function send(string $to, string $body): bool
    {
        if (!filter_var($to, FILTER_VALIDATE_EMAIL)) {
            return false;
        }
        $this->pending[] = [$to, $body];
        return true;
    }
}

interface Sender { public function send(string $to, string $body): bool; }

function greeting(string $name): string
{
    return "Dear {$name}, thank you for your order; it will be on its way tomorrow.";
}
?>
<p>sent</p>
"#,
        chunks: "\
1-4 Import App\\Mail
6-9 Class Mailer
11-11 Method __construct
13-22 Method send
24-24 Interface Sender
26-31 Function greeting
",
    },
    Sample {
        path: "pool/pool_test.go",
        language: "go",
        text: r#"package pool

import (
	"errors"
	"sync"
)

const limit = 8

// ErrFull is returned when every slot is taken.
var ErrFull = errors.New("pool: full")

// Pool hands out slots.
type Pool struct {
	mu   sync.Mutex
	used int
}

type Taker interface {
	Take() (int, error)
}

// Take gives a free slot, or ErrFull.
func (p *Pool) Take() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used == limit {
		return 0, ErrFull
	}
	p.used++
	return p.used, nil
}

func TestTake(t *testing.T) {
	var p Pool
	if slot, err := p.Take(); err != nil || slot != 1 {
		t.Fatalf("got %d, %v", slot, err)
	}
}
"#,
        chunks: "\
1-11 Field ErrFull test
13-21 Interface Taker test
23-32 Method Take test
34-39 Test TestTake test
",
    },
    Sample {
        path: "src/ring.rs",
        language: "rust",
        text: r#"//! A ring of bytes.

use std::collections::VecDeque;
use std::io;

/// Holds the last bytes written.
#[derive(Debug, Default)]
pub struct Ring {
    bytes: VecDeque<u8>,
    cap: usize,
}

pub enum Full { Drop, Refuse }

pub trait Sink {
    fn accept(&mut self, bytes: &[u8]) -> io::Result<usize>;
}

impl Sink for Ring {
    /// Writes, and forgets the eldest bytes over the cap.
    fn accept(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend(bytes);
        while self.bytes.len() > self.cap {
            self.bytes.pop_front();
        }
        Ok(bytes.len())
    }
}

macro_rules! ring { ($cap:expr) => { Ring { cap: $cap, ..Ring::default() } }; }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_the_eldest() {
        let mut ring = ring!(2);
        ring.accept(b"abc").expect("a ring takes everything that it is given");
        assert_eq!(ring.bytes, [b'b', b'c']);
    }
}
"#,
        chunks: "\
1-4 Import -
6-11 Class Ring
13-17 Interface Sink
19-19 Class Ring
20-22 Method accept
23-28 Method accept
30-30 Function ring
32-34 Section tests test
36-39 Test forgets_the_eldest test
40-42 Test forgets_the_eldest test
",
    },
    Sample {
        path: "docs/guide.md",
        language: "markdown",
        text: r"Before any heading.

# Install

Fetch the archive, unpack it in your home folder, and add its folder to the search path of your shell.

## Check

```sh
# not a heading
tool --version
```
",
        chunks: "\
1-5 Section Install
7-12 Section Check
",
    },
    Sample {
        path: "lib/stack.rb",
        language: "ruby",
        text: r#"# A stack.
class Stack
  def push(value)
    @values ||= []
    @values.push(value)
    notify(:pushed, value, size: @values.size)
  end

  def pop
    raise EmptyStack, "nothing was pushed" if @values.nil? || @values.empty?
    @values.pop
  end
end
"#,
        chunks: "\
1-7 Window -
9-13 Window -
",
    },
];

fn listing(sample: &Sample) -> String {
    let budget = ChunkBudget { preferred: 120, ..ChunkBudget::default() };
    let mut out = String::new();
    for chunk in chunk_file(sample.path, sample.text.as_bytes(), &budget).chunks {
        let (start, end, item) = (chunk.start_line, chunk.end_line, chunk.item);
        let name = chunk.name.as_deref().unwrap_or("-");
        let test = if chunk.is_test { " test" } else { "" };
        let _ = writeln!(out, "{start}-{end} {item:?} {name}{test}");
    }
    out
}

#[test]
fn samples_give_the_expected_chunks() {
    let mut wrong = String::new();
    for sample in SAMPLES {
        let found = listing(sample);
        if found != sample.chunks {
            let _ = write!(wrong, "\n=== {}\n--- expected\n{}--- found\n{found}", sample.path, sample.chunks);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn samples_parse_without_errors_and_keep_the_invariants() {
    for sample in SAMPLES {
        let file = chunk_file(sample.path, sample.text.as_bytes(), &ChunkBudget::default());
        assert_eq!(file.language.as_str(), sample.language, "{}", sample.path);
        let plain = ["markdown", "ruby"].contains(&sample.language);
        let expected = if plain { ParseOutcome::Lines } else { ParseOutcome::Parsed };
        assert_eq!(file.parse, expected, "{}", sample.path);
        for preferred in [1, 20, 60, 120, 500, 1_000] {
            assert_invariants(
                sample.path,
                sample.text.as_bytes(),
                &ChunkBudget { preferred, ..ChunkBudget::default() },
            );
        }
    }
}

/// A declaration that fits is in one chunk together with the documentation and attributes above it.
#[test]
fn declarations_keep_their_documentation_and_attributes() {
    let whole = [
        ("src/Cart.kt", "/** Adds one thing, or raises its count. */", "items.add(item)\n    }"),
        ("src/Queue.java", "/** Takes the eldest", "inner.removeFirst();\n        }\n    }"),
        ("src/cache.py", "# The eldest entry", ">= self.limit"),
        ("src/cache.py", "@functools", "len(str(abs(number)))"),
        ("src/store.ts", "@traced()", "this.rows.get(id);\n  }"),
        ("src/Account.cs", "/// <summary>Takes", "return true;\n        }"),
        ("src/Mailer.php", "#[Traced]", "return true;\n    }"),
        ("pool/pool_test.go", "// Take gives", "return p.used, nil\n}"),
        ("src/ring.rs", "/// Holds the last", "cap: usize,\n}"),
        ("src/ring.rs", "#[test]", "b'c']);\n    }"),
    ];
    for (path, from, to) in whole {
        let sample = SAMPLES.iter().find(|s| s.path == path).expect("a sample of this path");
        let start = sample.text.find(from).expect("the beginning is in the sample");
        let end = start + sample.text[start..].find(to).expect("the end is in the sample") + to.len();
        let budget = ChunkBudget { preferred: 160, ..ChunkBudget::default() };
        let file = chunk_file(path, sample.text.as_bytes(), &budget);
        let holder =
            file.chunks.iter().find(|c| c.start_byte as usize <= start && end <= c.end_byte as usize);
        let pieces: Vec<_> =
            file.chunks.iter().map(|c| String::from_utf8_lossy(text(sample.text.as_bytes(), c))).collect();
        assert!(holder.is_some(), "{path}: {from} is torn:\n{}", pieces.join("\n-----\n"));
    }
}
