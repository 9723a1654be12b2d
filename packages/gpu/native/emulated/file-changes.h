// Changes of files while a weight is loaded, for tests.
#pragma once

namespace quern::gpu {

// Cuts QUERN_EMULATED_CUTS to a page, gives QUERN_EMULATED_TOUCHES the time of now. False: there is no such file.
bool changes_files();

}  // namespace quern::gpu
