import type { ActiveFeed, FeedsOnAir } from '../media/feedsOnAir.ts'

/** A JPEG of a feed. */
export interface LatestThumbnail {
  readonly image: Uint8Array
  /** When it was taken, epoch milliseconds. */
  readonly atMs: number
}

type TakeThumbnail = (feed: ActiveFeed) => void

/** A JPEG of 320 pixels has some 20 kB, so this holds those of 3,000 feeds. */
const MAX_BYTES = 64_000_000

/** The latest thumbnail of each feed of this node that has them, in memory. The oldest give way when there are too many. */
export class LatestThumbnails {
  readonly #maxBytes: number
  readonly #images = new Map<string, LatestThumbnail>()
  #bytes = 0
  #take: TakeThumbnail = () => undefined

  constructor(feeds: Pick<FeedsOnAir, 'watch'>, maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes
    feeds.watch(({ feedId }, what) => {
      if (what === 'ended') this.#delete(feedId)
    })
  }

  of(feedId: string): LatestThumbnail | undefined {
    return this.#images.get(feedId)
  }

  /** Has `take` called with each feed that needs one now. There is one that takes them. */
  onRequest(take: TakeThumbnail): void {
    this.#take = take
  }

  /** Has a thumbnail of the feed taken now, beside those that its token asks for. */
  request(feed: ActiveFeed): void {
    this.#take(feed)
  }

  put({ feedId }: Pick<ActiveFeed, 'feedId'>, image: Uint8Array, atMs: number): void {
    this.#delete(feedId)
    this.#images.set(feedId, { image, atMs })
    this.#bytes += image.length
    for (const oldest of this.#images.keys()) {
      if (this.#bytes <= this.#maxBytes) return
      this.#delete(oldest)
    }
  }

  #delete(feedId: string): void {
    this.#bytes -= this.#images.get(feedId)?.image.length ?? 0
    this.#images.delete(feedId)
  }
}
