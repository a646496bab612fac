// What the machine offers to EAL.
#include <sched.h>
#include <sys/mman.h>

#include <bit>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "lib/port/eal.hpp"

namespace xbond::port {
namespace {

// MAP_HUGE_SHIFT of linux/mman.h: the page size's logarithm lies in the upper bits of the flags.
constexpr int kHugeShift = 26;

// Whether this user gets a page of that size: cgroups, rlimits and security modules have a say too, so one is asked
// for. Mapping reserves the page; it is not touched and goes back at once.
bool page_obtainable(uint64_t page_bytes) {
  const int size_flag = std::countr_zero(page_bytes) << kHugeShift;
  void* page =
      mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | size_flag, -1, 0);
  if (page == MAP_FAILED) return false;
  munmap(page, page_bytes);
  return true;
}

// "hugepages-2048kB" -> bytes; 0 where the name is another one.
uint64_t page_size(std::string_view directory) {
  constexpr std::string_view kPrefix = "hugepages-";
  if (!directory.starts_with(kPrefix)) return 0;
  directory.remove_prefix(kPrefix.size());
  uint64_t kilobytes = 0;
  const auto end = directory.data() + directory.size();
  if (std::from_chars(directory.data(), end, kilobytes).ec != std::errc{}) return 0;
  return std::has_single_bit(kilobytes) ? kilobytes * 1024 : 0;
}

// In-memory mode takes pages straight from the kernel, so that no hugetlbfs needs to be mounted.
uint64_t free_hugepage_bytes() {
  uint64_t total = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/kernel/mm/hugepages", ignored)) {
    const uint64_t bytes = page_size(entry.path().filename().native());
    uint64_t free_pages = 0, reserved = 0;
    std::ifstream(entry.path() / "free_hugepages") >> free_pages;
    std::ifstream(entry.path() / "resv_hugepages") >> reserved;  // promised to others, though still counted as free
    if (bytes == 0 || free_pages <= reserved || !page_obtainable(bytes)) continue;
    total += bytes * (free_pages - reserved);
  }
  return total;
}

std::vector<unsigned> allowed_cpus() {
  std::vector<unsigned> cpus;
  // The kernel refuses a set smaller than its own; 8192 is the greatest CONFIG_NR_CPUS.
  constexpr size_t kCpus = 8192;
  cpu_set_t* set = CPU_ALLOC(kCpus);
  if (set == nullptr) return cpus;
  const size_t bytes = CPU_ALLOC_SIZE(kCpus);
  CPU_ZERO_S(bytes, set);
  if (sched_getaffinity(0, bytes, set) == 0)
    for (unsigned cpu = 0; cpu < kCpus; ++cpu)
      if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(cpu);
  CPU_FREE(set);
  return cpus;
}

}  // namespace

Machine read_machine() {
  return {.free_hugepage_bytes = free_hugepage_bytes(), .cpus = allowed_cpus()};
}

}  // namespace xbond::port
