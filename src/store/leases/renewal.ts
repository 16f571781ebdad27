import type { Session } from '../session.ts'
import { renewSender } from '../tables/deliveryNodes.ts'
import { renewEngines } from '../tables/lives.ts'
import { renewNode } from '../tables/nodes.ts'
import type { Lease, LeaseKind } from './types.ts'

/** What fewer depend on comes later: a row that somebody else has locked must not delay the leases of sessions. */
const ORDER: readonly LeaseKind[] = ['node', 'deliveries', 'engines']

export const inOrder = (leases: Iterable<Lease>): Lease[] =>
  [...leases].toSorted((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind))

/** Renews one lease, each of its statements for itself. False: its holder was given up. */
export async function renew(session: Session, { kind, id, leaseMs }: Lease): Promise<boolean> {
  switch (kind) {
    case 'node':
      return renewNode(session, id, leaseMs)
    case 'deliveries':
      await renewSender(session, id, leaseMs)
      return true
    case 'engines':
      await renewEngines(session, id, leaseMs)
      return true
  }
}
