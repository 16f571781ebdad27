import { checkLinks, checkLinksHealed } from './linkPromises.ts'
import { type Client, fail, type Seen } from './seen.ts'
import { checkSendings, checkTargetBooks, checkTargets } from './targetPromises.ts'

export function checkAlways(seen: Seen): void {
  checkSendings(seen)
  checkLinks(seen)
  for (const { id, maxViewers, maxAddresses } of seen.grants) {
    const clients = seen.clients.filter(({ grant }) => grant.id === id)
    // The viewers of a node that was given up are in nobody's count until it wakes.
    const watching = clients.filter(({ state, node }) => state === 'open' && !node.isExpired).length
    if (maxViewers !== null && watching > maxViewers) fail(`${watching} viewers at once, of ${maxViewers}`)
    const addresses = new Set(clients.filter(({ wasAdmitted }) => wasAdmitted).map(({ address }) => address)).size
    if (maxAddresses !== null && addresses > maxAddresses) fail(`${addresses} addresses, of ${maxAddresses}`)
  }
  const twice = seen.rows(
    `select stream_name, count(*) n from feeds where ended_at_ms is null group by stream_name having count(*) > 1`,
  )
  if (twice.length > 0) fail(`two publishers of one source: ${JSON.stringify(twice)}`)
}

export function checkHealed(seen: Seen): void {
  const open = seen.clients.filter(({ state }) => state === 'open')
  for (const { id, grant, isKicked, node } of open) {
    if (grant.revoked === 'said') fail(`session ${id} outlives its token`)
    if (isKicked) fail(`session ${id} outlives its kick`)
    if (!node.ctx.sessions.has(id)) fail(`session ${id} is forgotten, and its edge does not know`)
  }
  checkPublishers(seen, open)
  checkShown(seen)
  checkTargets(seen)
  checkLinksHealed(seen)
  const ids = new Set(open.map(({ id }) => id))
  for (const { id } of seen.rows('select id from sessions where ended_at_ms is not null'))
    if (ids.has(String(id))) fail(`session ${String(id)} is over on record, and still connected`)
  for (const { id, node } of seen.rows('select id, node from sessions where ended_at_ms is null'))
    if (!ids.has(String(id)) && seen.nodes.some((one) => one.isRunning && one.isServing && one.id === node))
      fail(`session ${String(id)} is over, and its row is open`)
  for (const { node, n } of seen.rows(
    `select node_id node, count(*) n from viewer_seats join sessions on id = session_id
     where ended_at_ms is not null group by node_id`,
  ))
    if (seen.nodes.some((one) => one.isRunning && one.isServing && one.id === node))
      fail(`${String(n)} viewers have left, and their seats are taken`)
}

/** A source has one publisher of each priority. The best is on the air. */
function checkPublishers(seen: Seen, open: readonly Client[]): void {
  const publishers = open.filter(({ isPublisher }) => isPublisher)
  const ranks = publishers.map(({ streamName, grant }) => `${streamName} ${grant.priority}`)
  if (new Set(ranks).size !== ranks.length) fail('a publisher was replaced, and is still connected')
  const rows = seen.rows('select session_id from feeds where ended_at_ms is null')
  const onAir = new Set(rows.map((row) => row['session_id']))
  const priorityOf = ({ grant }: Client): number => grant.priority ?? -1
  for (const [streamName, rivals] of Map.groupBy(publishers, (one) => one.streamName)) {
    const best = Math.max(...rivals.map(priorityOf))
    if (!rivals.some((one) => onAir.has(one.id) && priorityOf(one) === best))
      fail(`${streamName} has a publisher of priority ${best}, and another one or none is on the air`)
  }
}

/** A node shows what is on the air there on record, and has in memory what is at others. */
function checkShown(seen: Seen): void {
  const streams = seen.rows('select distinct account_id, stream_name from feeds')
  for (const node of seen.nodes) {
    if (!node.isRunning || !node.isServing) continue
    const onRecord = (where: string): string => {
      const rows = seen.rows(
        `select id from feeds where node ${where} '${node.id}' and ended_at_ms is null order by id`,
      )
      return rows.map(({ id }) => String(id)).join(' ')
    }
    const { feeds } = node.ctx.sessions
    const shown = idsOf(feeds.all())
    if (shown !== onRecord('=')) fail(`a node shows feeds "${shown}", and "${onRecord('=')}" are on the air there`)
    const others = streams.flatMap((row) => feeds.remotesOf(String(row['account_id']), String(row['stream_name'])))
    if (idsOf(others) !== onRecord('<>'))
      fail(`a node knows feeds "${idsOf(others)}", and "${onRecord('<>')}" are on the air at others`)
  }
}

const idsOf = (feeds: readonly { readonly feedId: string }[]): string =>
  feeds
    .map(({ feedId }) => feedId)
    .toSorted()
    .join(' ')

/** When every process has ended. */
export function checkBooks(seen: Seen): void {
  const left = (table: string, where = 'true') => seen.rows(`select count(*) n from ${table} where ${where}`)[0]?.['n']
  for (const table of ['viewer_seats', 'serving_nodes', 'node_usage'])
    if (left(table) !== 0) fail(`${String(left(table))} rows are left in ${table}`)
  for (const table of ['sessions', 'feeds'])
    if (left(table, 'ended_at_ms is null') !== 0) fail(`an end is missing in ${table}`)
  checkEvents(seen)
  checkBytes(seen)
  checkTargetBooks(seen)
}

function checkEvents(seen: Seen): void {
  const events = seen.rows("select event, data from outbox where type = 'feeds' and event in ('started', 'ended')")
  const names = events.map(
    ({ event, data }) => `${String(event)} ${(JSON.parse(String(data)) as { feedId: string }).feedId}`,
  )
  if (new Set(names).size !== names.length) fail('an event of a feed was emitted twice')
  const feeds = seen.rows('select id from feeds').flatMap(({ id }) => [`started ${String(id)}`, `ended ${String(id)}`])
  if (JSON.stringify(feeds.toSorted()) !== JSON.stringify(names.toSorted())) fail('a feed lacks an event')
}

/** A session has what its edge sent, and after a crash or a pause no more. The sums by hour, day and month have what sessions have. */
function checkBytes(seen: Seen): void {
  const rows = new Map(
    seen.rows('select id, end_reason, bytes_in + bytes_out n from sessions').map((row) => [row['id'], row]),
  )
  let sent = 0
  for (const { id, bytes, wasAdmitted } of seen.clients) {
    const row = rows.get(id)
    if (wasAdmitted && row === undefined) fail(`session ${id} has no row`)
    sent += bytes
    const written = Number(row?.['n'] ?? 0)
    if (written > bytes) fail(`session ${id} has ${written} bytes, and sent ${bytes}`)
    if (row && row['end_reason'] !== 'lost' && written < bytes) fail(`session ${id} lost ${bytes - written} bytes`)
  }
  const sums = seen.rows(
    `select span, stream_name = '' as of_account, sum(bytes_in + bytes_out) n from usage group by 1, 2`,
  )
  const [counted = 0, ...others] = sums.map(({ n }) => Number(n))
  if (sums.length % 6 !== 0 || others.some((other) => other !== counted))
    fail(`sums by period differ: ${JSON.stringify(sums)}`)
  if (counted > sent) fail(`${counted} bytes are counted, and ${sent} were sent`)
  if (!seen.hasLosses && counted < sent) fail(`${sent - counted} bytes are in no hour`)
}
