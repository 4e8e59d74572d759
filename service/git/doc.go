// Package git lets clients read Git objects and refs of repositories on another
// machine through a client service: [Server] is the service, [Reader] its user.
//
//	Reader -> client.Service -> host -> client.Registration -> Server -> git cat-file
//
// # The service
//
// Its metadata is {"protocol":"git-object-reader","version":1,"label":…}. Every
// params object has an optional member repo, the name of a repository; it may be
// left out when there is one only.
//
//	getRepositories {}                           {repositories: [{name, objectFormat, bare}]}
//	getRefs         {prefix?, after?}            {objectFormat, head, refs: [{name, oid, peeled?, symref?}], next?}
//	getObjects      {oids, maxBytes?}            {objects: [{oid, type, size, data | partial}], missing, broken, next?}
//	getObjectRange  {oid, offset, length?}       {oid, type, size, offset, data}
//	watchRefs       {serviceId}                  {}
//	unwatchRefs     {serviceId}                  {}
//
// Data is base64. An answer is bounded in bytes: next is then where to go on, the
// name of the last ref as after, or the number of oids that were dealt with. An
// object above the bound is named, with partial instead of data, and read with
// getObjectRange. Objects that are not there are named in missing, those that Git
// cannot read in broken.
//
// A client hears of changed refs at a service of its own, which it names to
// watchRefs: the notification
//
//	refsChanged     {repo, changes: [{name, old?, new?}]}
//
// goes there. The service must belong to the caller, as the catalogue says, and when
// it leaves the catalogue the watch is over. HEAD is one of the names; where it is
// symbolic its value is "ref: refs/heads/main".
//
// Invariants:
//
//   - Ids are full and checked, so nothing a caller sends is taken for a revision,
//     a path or an option.
//   - Objects are what their ids say: replacements are off, nothing is fetched.
//   - Git runs without the user's environment variables for Git, and for a kind of
//     request a bounded number of processes is kept running for each repository.
//   - Refs are watched through the file system, never polled; what is told is the
//     difference of two listings, so no change is told twice.
//   - A Reader verifies every object against its id before it keeps or returns it.
//
// It does not write, nor say which objects can be reached: who may call it may read
// any object of the repositories.
package git
