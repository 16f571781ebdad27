import { fail, type Seen } from './seen.ts'

/** A target gets a feed while that is on the air at its node, and over one connection. */
export function checkSendings({ sendings }: Seen): void {
  const open = sendings.filter(({ isOver, node }) => !isOver && !node.isDead)
  for (const { node, feedId, url } of open)
    if (!node.ctx.sessions.feeds.all().some((feed) => feed.feedId === feedId)) fail(`${url} gets a feed that is over`)
  const ways = open.map(({ feedId, url }) => `${feedId} to ${url}`)
  if (new Set(ways).size !== ways.length) fail('a target gets a feed twice')
}

/** Each feed goes to the targets of its token, as they are stored. */
export function checkTargets(seen: Seen): void {
  const tokens = seen.rows('select id, restream from tokens')
  const stored = new Map(tokens.map(({ id, restream }) => [id, String(restream)]))
  for (const node of seen.nodes) {
    if (!node.isRunning || !node.isServing) continue
    for (const { feedId, tokenId } of node.ctx.sessions.feeds.all()) {
      const targets = JSON.parse(stored.get(tokenId) ?? '[]') as { readonly url: string }[]
      const reports = node.targetsOf(feedId)
      const [meant, dialled] = [targets, reports].map((list) => list.map(({ url }) => url).join(' '))
      if (meant !== dialled) fail(`feed ${feedId} goes to "${dialled}", and its token says "${meant}"`)
      for (const { url, state, index } of reports) {
        if (state.status === 'off') fail(`feed ${feedId} does not go to ${url}`)
        if (seen.isFaultless) checkRow(seen, { feedId, index, status: state.status })
      }
    }
  }
}

interface Row {
  readonly feedId: string
  readonly index: number
  readonly status: string
}

function checkRow(seen: Seen, { feedId, index, status }: Row): void {
  const [row] = seen.rows(
    `select status from restream_events where feed_id = '${feedId}' and ord = ${index} order by id desc limit 1`,
  )
  if (row?.['status'] !== status)
    fail(`a target of feed ${feedId} is ${status}, and on record ${String(row?.['status'])}`)
}

/** When every process has ended: what targets took is counted once, and each of their starts has one end. */
export function checkTargetBooks(seen: Seen): void {
  const sent = seen.sendings.reduce((sum, { bytesOut }) => sum + bytesOut, 0)
  const [sum] = seen.rows('select coalesce(sum(bytes_out), 0) n from restream_hourly')
  const counted = Number(sum?.['n'])
  if (counted > sent) fail(`${counted} bytes are counted for targets, and ${sent} were sent to them`)
  if (!seen.isFaultless) return
  if (!seen.hasLosses && counted < sent) fail(`${sent - counted} bytes that targets got are in no hour`)
  checkTargetEvents(seen)
}

function checkTargetEvents(seen: Seen): void {
  const events = seen.rows("select event, data from outbox where type = 'restream' order by id").map((row) => ({
    event: String(row['event']),
    ...(JSON.parse(String(row['data'])) as { readonly feedId: string; readonly index: number }),
  }))
  for (const [of, some] of Map.groupBy(events, ({ feedId, index }) => `${feedId} ${index}`)) {
    let takes = false
    for (const { event } of some) {
      if (event === 'started' && takes) fail(`target ${of} started twice`)
      if (event === 'ended' && !takes) fail(`target ${of} ended without a start`)
      takes = event === 'started'
    }
    if (takes) fail(`target ${of} has no end`)
  }
}
