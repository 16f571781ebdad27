import type { SqlDialect, Query } from '../executor.ts'
import { senderRenewal } from '../tables/deliveryNodes.ts'
import { engineRenewal, runRenewal } from '../tables/engineStates.ts'
import { nodeRenewal } from '../tables/nodes.ts'
import type { Lease, LeaseKind } from './types.ts'

/** What renews one lease: statements, ready to be sent, so that whoever sends them needs a connection and nothing else. */
export interface Renewal {
  readonly id: string
  readonly leaseMs: number
  readonly statements: readonly Query[]
  /** The holder was given up when the first statement finds nothing to renew. */
  readonly endsWithHolder: boolean
  /** The lower, the earlier: what others have locked must not delay the leases of sessions. */
  readonly rank: number
}

const ORDER: readonly LeaseKind[] = ['node', 'deliveries', 'engines']

export const renewalOf = (engine: SqlDialect, lease: Lease): Renewal => ({
  id: lease.id,
  leaseMs: lease.leaseMs,
  statements: statementsOf(engine, lease),
  endsWithHolder: lease.kind === 'node',
  rank: ORDER.indexOf(lease.kind),
})

function statementsOf(engine: SqlDialect, { kind, id, leaseMs }: Lease): Query[] {
  switch (kind) {
    case 'node':
      return [nodeRenewal(engine, { id, leaseMs })]
    case 'deliveries':
      return [senderRenewal(engine, { id, leaseMs })]
    case 'engines':
      return [engineRenewal(engine, { id, leaseMs }), runRenewal(engine, { id })]
  }
}
