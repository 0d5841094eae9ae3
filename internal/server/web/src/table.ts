// A list from the server in which a changed row changes nothing else.
import { signal, type Signal } from '@preact/signals'

// Received is a value with the moment when it arrived, on the page's own monotonic clock: its remaining
// milliseconds count from there.
export type Received<V> = V & { readonly received: number }

// Table holds rows by key. A changed row shows at once; added and removed rows show with the next commit.
export class Table<K, V extends object> {
  readonly keys = signal<readonly K[]>([])
  readonly version = signal(0)
  private rows = new Map<K, Signal<Received<V>>>()
  private changed = false
  private moved = false

  constructor(
    private readonly keyOf: (v: V) => K,
    private readonly order?: (a: V, b: V) => number, // left out: as they arrive
  ) {}

  // row returns a row to show; a removed row keeps its last state.
  row(key: K): Signal<Received<V>> | undefined {
    return this.rows.get(key)
  }

  peek(key: K): Received<V> | undefined {
    return this.rows.get(key)?.peek()
  }

  *all(): Iterable<Received<V>> {
    for (const row of this.rows.values()) yield row.peek()
  }

  // replace replaces all rows by those of a list.
  replace(list: V[], received: number): void {
    const before = this.rows
    this.rows = new Map()
    for (const v of list) {
      const row = before.get(this.keyOf(v))
      if (row) this.rows.set(this.keyOf(v), row)
      this.put(v, received)
    }
    this.changed = this.moved = true
  }

  // put adds a value, or replaces its row's. The value is the table's from here on.
  put(v: V, received: number): void {
    const key = this.keyOf(v)
    const row = this.rows.get(key)
    const value = Object.assign(v, { received })
    this.changed = true
    if (row) {
      row.value = value
      this.moved ||= this.order !== undefined
      return
    }
    this.rows.set(key, signal(value))
    this.moved = true
  }

  // remove returns the removed row.
  remove(key: K): Received<V> | undefined {
    const row = this.rows.get(key)
    this.rows.delete(key)
    if (row) this.changed = this.moved = true
    return row?.peek()
  }

  // commit shows which rows there are now.
  commit(): void {
    if (this.moved) this.keys.value = this.sorted()
    if (this.changed) this.version.value++
    this.changed = this.moved = false
  }

  private sorted(): K[] {
    const order = this.order
    if (!order) return [...this.rows.keys()]
    const rows = [...this.rows.entries()].sort(([, a], [, b]) => order(a.peek(), b.peek()))
    return rows.map(([key]) => key)
  }
}
