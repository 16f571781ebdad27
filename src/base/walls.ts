// An error that a handler of events throws ends the process, and with it what all other clients do. These keep it to the client
// whose work it was.

/** A handler that throws nothing. `failed` gets what it would throw, and ends the client. */
export const walled =
  <A extends readonly unknown[]>(handle: (...given: A) => void, failed: (error: unknown, ...given: A) => void) =>
  (...given: A): void => {
    try {
      handle(...given)
    } catch (error) {
      failed(error, ...given)
    }
  }

/** Does the same for each of `all`, from which `failed` may delete the one that it gets. */
export function eachWalled<T>(
  all: Iterable<T>,
  work: (one: T) => void,
  failed: (error: unknown, one: T) => void,
): void {
  for (const one of all) {
    try {
      work(one)
    } catch (error) {
      failed(error, one)
    }
  }
}

/**
 * What went wrong for one client in the middle of the work for another, such as for a viewer while a packet of its publisher is
 * handled. It is thrown with the client's own next work, so that it ends this client and not the other.
 */
export class LaterFault {
  #noted: { readonly error: unknown } | null = null

  /** The first one counts. */
  readonly note = (error: unknown): void => {
    this.#noted ??= { error }
  }

  /** Does work for the client in the middle of that for another. */
  during(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.note(error)
    }
  }

  /** @throws what went wrong since the last call */
  raise(): void {
    const noted = this.#noted
    this.#noted = null
    if (noted !== null) throw noted.error
  }
}
