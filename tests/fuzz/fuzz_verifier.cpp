// Programs made of any bytes: what the verifier accepts breaks no rule when it runs.
#include <cstdio>
#include <cstdlib>

#include "tests/made/program_maker.hpp"
#include "tests/made/verified_run.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace xbond::bpf::test;  // NOLINT(google-build-using-namespace)
  const auto object = make_program({bytes, size});
  std::string why;
  if (verify_and_run(object, {bytes, size}, why) == Verified::broken) {
    std::fprintf(stderr, "%saccepted, and then: %s\n", listing(object).c_str(), why.c_str());
    std::abort();
  }
  return 0;
}
