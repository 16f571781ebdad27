import type { TargetDialling } from '../../src/app/restream.ts'
import type { AttemptEvent } from '../../src/core/restream/driver.ts'
import type { SimNode } from './node.ts'
import type { SeededRandom } from './scheduler.ts'

/** An attempt of a node to send a feed to a target, as its far end sees it. */
export interface Sending {
  readonly node: SimNode
  readonly feedId: string
  readonly url: string
  readonly report: (event: AttemptEvent) => void
  isAccepted: boolean
  /** The node has closed it. */
  isOver: boolean
  bytesOut: number
}

/** The far ends of targets. They accept, refuse or lose what is sent to them, or hang and say nothing. */
export class Targets {
  readonly all: Sending[] = []
  readonly #random: SeededRandom

  constructor(random: SeededRandom) {
    this.#random = random
  }

  /** How a node reaches them. */
  dialledBy(node: SimNode): TargetDialling {
    return {
      begin: () => undefined,
      end: () => undefined,
      tick: () => undefined,
      stop: () => undefined,
      onOtherCodecs: () => () => undefined,
      open: ({ url }, feedId, report) => {
        const sending: Sending = { node, feedId, url, report, isAccepted: false, isOver: false, bytesOut: 0 }
        this.all.push(sending)
        return {
          get bytes() {
            return { bytesIn: 0, bytesOut: sending.bytesOut }
          },
          tick: () => undefined,
          end: () => (sending.isOver = true),
        }
      },
    }
  }

  get open(): readonly Sending[] {
    return this.all.filter(({ isOver }) => !isOver)
  }

  /** One of them answers, at last. */
  answer(): void {
    const waiting = this.open.filter(({ node }) => node.isRunning)
    const sending = waiting[this.#random.below(waiting.length)]
    if (sending === undefined) return
    if (!sending.isAccepted && this.#random.chance(0.7)) {
      sending.isAccepted = true
      sending.report({ kind: 'accepted' })
      return
    }
    const kind = this.#random.chance(0.3) ? 'refused' : 'lost'
    sending.report({ kind, message: 'as the seed says' })
  }

  /** Media goes to those that take it. */
  send(): void {
    for (const sending of this.open)
      if (sending.isAccepted && sending.node.isRunning) sending.bytesOut += 1 + this.#random.below(1000)
  }
}
