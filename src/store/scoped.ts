import { type QueryAnswer, type Query, Executor } from './executor.ts'

/** Runs the work of a transaction. @throws also the first error of a statement that the work has swallowed */
export async function runScoped<T>(inner: Executor, work: (executor: Executor) => Promise<T>): Promise<T> {
  const scoped = new ScopedExecutor(inner)
  try {
    const value = await work(scoped)
    scoped.assertValid()
    return value
  } finally {
    scoped.end()
  }
}

/**
 * The executor that a transaction's work gets. Refuses use after the end, and remembers a failed statement: PostgreSQL then
 * aborts the whole transaction, so work that swallowed the error must not see a commit.
 */
class ScopedExecutor extends Executor {
  readonly #inner: Executor
  #failure: { error: unknown } | undefined
  #ended = false

  constructor(inner: Executor) {
    super(inner.dialect)
    this.#inner = inner
  }

  override execute(query: Query): Promise<QueryAnswer> {
    if (this.#ended) return Promise.reject(new Error('the transaction has ended: its handle was used afterwards'))
    return this.#inner.execute(query).catch((error: unknown) => {
      this.#failure ??= { error }
      throw error
    })
  }

  assertValid(): void {
    if (this.#failure) throw this.#failure.error
  }

  end(): void {
    this.#ended = true
  }
}
