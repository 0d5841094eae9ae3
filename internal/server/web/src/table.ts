// A list of what the server tells, in which a change of one row is a change of
// nothing else.
import { signal, type Signal } from '@preact/signals'

// Told is what was told, with the moment at which it was, on the page's own
// monotonic clock: what the server says is left counts from there.
export type Told<V> = V & { readonly told: number }

// Table holds rows by their keys. Changes of rows show at once; which rows
// there are shows when settle is called, once for many.
export class Table<K, V> {
  readonly keys = signal<readonly K[]>([])
  readonly version = signal(0)
  private rows = new Map<K, Signal<Told<V>>>()
  private changed = false
  private moved = false

  constructor(
    private readonly keyOf: (v: V) => K,
    private readonly order?: (a: V, b: V) => number, // left out: as they came
  ) {}

  // row gives a row that is shown; it keeps its last state when it is gone.
  row(key: K): Signal<Told<V>> | undefined {
    return this.rows.get(key)
  }

  peek(key: K): Told<V> | undefined {
    return this.rows.get(key)?.peek()
  }

  *all(): Iterable<Told<V>> {
    for (const row of this.rows.values()) yield row.peek()
  }

  // replace makes a list of the server's the whole truth.
  replace(list: V[], told: number): void {
    const before = this.rows
    this.rows = new Map()
    for (const v of list) {
      const row = before.get(this.keyOf(v))
      if (row) this.rows.set(this.keyOf(v), row)
      this.put(v, told)
    }
    this.changed = this.moved = true
  }

  put(v: V, told: number): void {
    const key = this.keyOf(v)
    const row = this.rows.get(key)
    this.changed = true
    if (row) {
      row.value = { ...v, told }
      this.moved ||= this.order !== undefined
      return
    }
    this.rows.set(key, signal({ ...v, told }))
    this.moved = true
  }

  // remove gives what was there.
  remove(key: K): Told<V> | undefined {
    const row = this.rows.get(key)
    this.rows.delete(key)
    if (row) this.changed = this.moved = true
    return row?.peek()
  }

  // settle shows which rows there are now.
  settle(): void {
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
