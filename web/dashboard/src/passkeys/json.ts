// WebAuthn as JSON. Browsers do this themselves from Chrome 129, Safari 18.4 and Firefox 119 on; these functions do it
// for the older ones. See section 5.1.8 to 5.1.10 of the standard.

/** @throws DOMException for text that is not base64url */
export function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(binary, (character) => character.charCodeAt(0))
}

/** Base64url without padding. */
export function base64urlOf(buffer: ArrayBuffer): string {
  const binary = String.fromCharCode(...new Uint8Array(buffer))
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

type Descriptor = PublicKeyCredentialDescriptorJSON

const descriptorOf = ({ id, transports = [] }: Descriptor): PublicKeyCredentialDescriptor => ({
  id: bytesOf(id),
  type: 'public-key',
  transports: transports as AuthenticatorTransport[],
})

/** As `PublicKeyCredential.parseCreationOptionsFromJSON`, without extensions. */
export function creationOptionsOf(json: PublicKeyCredentialCreationOptionsJSON): PublicKeyCredentialCreationOptions {
  const { challenge, user, excludeCredentials = [], attestation, extensions: _, ...rest } = json
  return {
    ...(rest as Omit<PublicKeyCredentialCreationOptions, 'challenge' | 'user'>),
    challenge: bytesOf(challenge),
    user: { ...user, id: bytesOf(user.id) },
    excludeCredentials: excludeCredentials.map(descriptorOf),
    attestation: (attestation ?? 'none') as AttestationConveyancePreference,
  }
}

/** As `PublicKeyCredential.parseRequestOptionsFromJSON`, without extensions. */
export function requestOptionsOf(json: PublicKeyCredentialRequestOptionsJSON): PublicKeyCredentialRequestOptions {
  const { challenge, allowCredentials = [], extensions: _, ...rest } = json
  return {
    ...(rest as Omit<PublicKeyCredentialRequestOptions, 'challenge'>),
    challenge: bytesOf(challenge),
    allowCredentials: allowCredentials.map(descriptorOf),
  }
}

/** As `credential.toJSON()`, with what Sluice reads. */
export function answerOf(credential: PublicKeyCredential): object {
  const { id, rawId, type, response } = credential
  return {
    id,
    rawId: base64urlOf(rawId),
    type,
    clientExtensionResults: {},
    response: { clientDataJSON: base64urlOf(response.clientDataJSON), ...proofOf(response) },
  }
}

/** A new passkey has an attestation object, one that signs in has a signature. */
function proofOf(response: AuthenticatorResponse): object {
  if ('attestationObject' in response) {
    const created = response as AuthenticatorAttestationResponse
    return { attestationObject: base64urlOf(created.attestationObject), transports: created.getTransports() }
  }
  const { authenticatorData, signature, userHandle } = response as AuthenticatorAssertionResponse
  return {
    authenticatorData: base64urlOf(authenticatorData),
    signature: base64urlOf(signature),
    ...(userHandle ? { userHandle: base64urlOf(userHandle) } : {}),
  }
}
