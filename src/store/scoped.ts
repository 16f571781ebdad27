import { type QueryAnswer, type Query, Executor } from './executor.ts'

/**
 * The executor that a transaction's work gets. Refuses use after the end, and remembers a failed statement: PostgreSQL then
 * aborts the whole transaction, so work that swallowed the error must not see a commit.
 */
export class ScopedExecutor extends Executor {
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

  /** @throws the first error of a statement, so that it cannot be swallowed */
  assertValid(): void {
    if (this.#failure) throw this.#failure.error
  }

  end(): void {
    this.#ended = true
  }
}
